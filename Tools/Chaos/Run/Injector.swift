import EventLoop
import Telemetry
import TestSupport

/// Injects the faults of a plan, several at once if they concern different parts of the fleet.
@EventLoop
final class Injector {
  private let fleet: ChaosFleet
  private let builds: Builds
  private var busy: Set<String> = []
  private var tasks: [Task<Void, Never>] = []
  private(set) var injected: [FaultKind: Int] = [:]
  private(set) var failure: (any Error)?
  private let onBegin: @EventLoop (Step) -> Void

  init(_ fleet: ChaosFleet, _ builds: Builds, onBegin: @escaping @EventLoop (Step) -> Void) {
    self.fleet = fleet
    self.builds = builds
    self.onBegin = onBegin
  }

  /// Begins a step when the part that it concerns has no other fault. Does not wait for its end.
  func begin(_ step: Step) async throws {
    let resource = Injector.resource(of: step)
    try await eventually("the fault before \(step) has ended") {
      !busy.contains(resource)
    }
    if let failure { throw failure }
    busy.insert(resource)
    injected[step.kind, default: 0] += 1
    onBegin(step)
    tasks.append(
      Task { @EventLoop in
        do { try await self.inject(step) } catch { self.failure = self.failure ?? error }
        self.busy.remove(resource)
      })
  }

  /// Waits until all faults have ended.
  func finish() async throws {
    for task in tasks { await task.value }
    if let failure { throw failure }
    try await fleet.gateway.clearFaults()
    try await fleet.gateway.settings(#"{"rttMs":\#(Injector.usualDelay)}"#)
  }

  /// Milliseconds between a push and its answer, so that pushes are in flight when a fault begins.
  static let usualDelay = 20

  private static func resource(of step: Step) -> String {
    switch step.kind.target {
    case .worker: "worker \(step.worker)"
    case .workersRedis: "redis of \(step.worker)"
    case .workersAPNs: "apns of \(step.worker)"
    case .redis: "redis"
    case .devices: "devices"
    case .gateway: step.kind == .slow ? "gateway" : "gateway \(step.number)"
    }
  }

  private func inject(_ step: Step) async throws {
    let duration = Duration.milliseconds(step.milliseconds)
    let seat = fleet.seats[step.worker]
    switch step.kind {
    case .workerKilled: try await seat.kill()
    case .workerStopped: try await seat.stop(andStart: true)
    case .workerFrozen: try await seat.freeze(for: duration)
    case .clockJump: try await fleet.clock.jump(seconds: step.amount, for: duration)
    case .redisCut: try await apply(.refuse, to: try redisProxy(of: seat), for: duration, cuts: true)
    case .redisHalfOpen: try await apply(.swallow, to: try redisProxy(of: seat), for: duration)
    case .redisLatency: try await apply(.delay(.milliseconds(200)), to: try redisProxy(of: seat), for: duration)
    case .apnsCut, .apnsHalfOpen:
      let end = seat.loseAnswers()
      try await apply(
        step.kind == .apnsCut ? .refuse : .swallow, to: seat.apns, for: duration, cuts: step.kind == .apnsCut)
      end()
    case .apnsLatency: try await apply(.delay(.milliseconds(200)), to: seat.apns, for: duration)
    case .redisKilled, .redisFull, .redisSlow, .redisPaused, .redisFailover, .scriptsFlushed, .clientsKilled,
      .primaryFailover, .plannedFailover, .queueMoved, .devicesMoved:
      try await fleet.redis.inject(step, for: duration)
    case .environmentChanged: try await builds.change(step.amount)
    case .goAway, .goAwayAbrupt, .streamsReset, .stall, .drop, .slow, .tooManyRequests, .unavailable, .expiredToken,
      .badConnection:
      try await injectIntoGateway(step, duration)
    }
  }

  private func redisProxy(of seat: Seat) throws -> FaultProxy {
    guard let proxy = seat.redis else { throw ChaosError("worker \(seat.number) reaches Redis without a proxy") }
    return proxy
  }

  private func apply(_ mode: ProxyMode, to proxy: FaultProxy, for duration: Duration, cuts: Bool = false) async throws {
    proxy.set(mode)
    if cuts { proxy.cut() }
    try await Task.sleep(for: duration)
    proxy.set(.forward)
  }

  private func injectIntoGateway(_ step: Step, _ duration: Duration) async throws {
    let count = step.amount
    switch step.kind {
    case .goAway: try await fleet.gateway.fault(#"{"kind":"goaway","every":5,"count":\#(count)}"#)
    case .goAwayAbrupt:
      try await fleet.gateway.fault(
        #"{"kind":"goaway","abrupt":true,"unanswered":\#(count),"every":\#(count),"count":1}"#)
    case .streamsReset:
      try await fleet.gateway.fault(
        #"{"kind":"reset","code":\#(step.isProcessed ? 2 : 7),"processed":\#(step.isProcessed),"count":\#(count)}"#)
    case .stall, .drop:
      try await fleet.gateway.fault(
        #"{"kind":"\#(step.kind == .stall ? "stall" : "drop")","processed":\#(step.isProcessed),"count":\#(count)}"#)
    case .slow:
      try await fleet.gateway.settings(#"{"rttMs":\#(step.milliseconds)}"#)
      try await Task.sleep(for: duration)
      try await fleet.gateway.settings(#"{"rttMs":\#(Injector.usualDelay)}"#)
    case .tooManyRequests:
      try await fleet.gateway.fault(
        #"{"kind":"status","status":429,"reason":"TooManyRequests","retryAfter":1,"count":\#(count)}"#)
    case .unavailable:
      try await fleet.gateway.fault(#"{"kind":"status","status":503,"reason":"ServiceUnavailable","count":\#(count)}"#)
    case .expiredToken:
      try await fleet.gateway.fault(#"{"kind":"status","status":403,"reason":"ExpiredProviderToken","count":1}"#)
    case .badConnection:
      // Those that are open now; later ones are good.
      let (status, reason) = FaultKind.badAnswers[count]
      try await fleet.gateway.fault(#"{"kind":"status","status":\#(status),"reason":"\#(reason)","open":true}"#)
    default: preconditionFailure("\(step.kind) is not a fault of APNs")
    }
  }
}
