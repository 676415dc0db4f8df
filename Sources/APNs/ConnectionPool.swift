import EventLoop
import Telemetry

/// The connections to one gateway and the pushes that wait for them.
@EventLoop
final class ConnectionPool {
  private unowned let client: APNsClient
  private let token: ProviderToken
  private let configuration: APNsConfiguration
  private var members: [PoolMember] = []
  /// Closing, but some answers may still come.
  private var draining: [Connection] = []
  private var waiting = PushList()
  private var isFillScheduled = false
  private var nextMember = 0
  private var isShuttingDown = false
  /// When a connection was last left because an answer asked for another one; on CLOCK_MONOTONIC, nanoseconds.
  private var drainedAt: UInt64?
  /// Opened to see whether this gateway is in reach while the default one is not; no push has asked for it.
  private(set) var isStandby: Bool

  init(
    origin: Origin, configuration: APNsConfiguration, token: ProviderToken, client: APNsClient, log: Log,
    isStandby: Bool
  ) {
    self.isStandby = isStandby
    self.configuration = configuration
    self.token = token
    self.client = client
    members = (0..<configuration.connectionsPerEnvironment).map { _ in
      PoolMember(pool: self, origin: origin, configuration: configuration, log: log)
    }
  }

  var queued: Int { waiting.count }

  var inFlight: Int { connections.reduce(0) { $0 + $1.inFlight.count } }

  var isConnected: Bool { members.contains { $0.connection?.isReady == true } }

  func open() {
    for member in members { member.open() }
  }

  func send(_ push: Push) {
    isStandby = false
    waiting.append(push)
    scheduleFill()
  }

  /// Back to the front of the queue.
  func resend(_ push: Push) {
    push.resends += 1
    client.instruments.resends.increment()
    waiting.putBack(push)
    scheduleFill()
  }

  func tick(now: UInt64) {
    endWaiting(now: now)
    for connection in connections { connection.tick(now: now) }
    scheduleFill()
  }

  /// Queued pushes end now, written ones when they are answered.
  func shutdown() {
    isShuttingDown = true
    for member in members { member.stop() }
    while let push = waiting.popFirst() { client.finishLater(push, .notProcessed("ShuttingDown")) }
    for connection in connections { connection.drain() }
  }

  func close() {
    for connection in connections { connection.close("ShuttingDown") }
  }

  /// Ends what has waited too long. A gateway out of reach must not hold its pushes, and with them the permits of other
  /// routes, until their deadlines.
  private func endWaiting(now: UInt64) {
    let isDown = isDown(now: now)
    while let push = waiting.first, isDown || push.deadline <= now {
      waiting.remove(push)
      client.finish(push, .notProcessed(isConnected ? "Timeout" : noConnection), now: now)
    }
  }

  /// No member has had a connection that takes pushes for longer than the outage patience.
  func isDown(now: UInt64) -> Bool { members.allSatisfy { $0.isDown(now: now) } }

  private var connections: [Connection] { members.compactMap(\.connection) + draining }

  private var noConnection: String {
    let error = members.lazy.map(\.lastError).first { !$0.isEmpty }
    return error.map { "NoConnection: \($0)" } ?? "NoConnection"
  }

  private func scheduleFill() {
    guard !isFillScheduled else { return }
    isFillScheduled = true
    EventLoop.atEndOfTurn { self.fill() }
  }

  /// Hands out what waits, the members in turn, and writes it: one write for the whole turn.
  private func fill() {
    isFillScheduled = false
    let now = Clock.monotonicNanoseconds
    endWaiting(now: now)
    if !waiting.isEmpty, token.prepare(now: now) {
      for offset in members.indices {
        let member = members[(nextMember + offset) % members.count]
        if let connection = member.connection { fill(connection, now: now) }
      }
      nextMember = (nextMember + 1) % members.count
    }
    for connection in connections { connection.flush(now: now) }
  }

  private func fill(_ connection: Connection, now: UInt64) {
    var room = connection.capacity
    while room > 0, let push = waiting.popFirst() {
      if let refusal = client.refusalBeforeSubmit(push, now: now) {
        client.finish(push, refusal, now: now)
        continue
      }
      guard connection.submit(push, token: token, now: now) else {
        waiting.putBack(push)
        return
      }
      room -= 1
    }
  }
}

extension ConnectionPool: ConnectionOwner {
  func ended(_ push: Push, _ outcome: PushAnswer, on connection: Connection, now: UInt64) {
    guard case .answered(let answer) = outcome else {
      resendOrFinish(push, outcome, now: now)
      return
    }
    switch client.reaction(to: answer, for: push, now: now) {
    case .finish:
      connection.opened()
      client.finish(push, outcome, now: now)
    case .refused:
      client.finish(push, outcome, now: now)
    case .resend:
      push.tokenResends += 1
      resendOrFinish(push, outcome, now: now)
    case .resendRenewed:
      push.tokenResends += 1
      connection.answered()
      connection.drain()
      resendOrFinish(push, outcome, now: now)
    case .resendElsewhere:
      leave(connection, now: now)
      resendOrFinish(push, outcome, now: now)
    }
  }

  func connectionOpened() {
    client.instruments.connections.increment()
  }

  func connectionHasRoom(_ connection: Connection) {
    if connection.isReady { members.first { $0.connection === connection }?.recovered() }
    client.stateMayHaveChanged()
    scheduleFill()
  }

  func connectionMayTakeMore(_ connection: Connection) {
    if connection.isReady, !waiting.isEmpty { fill() }
  }

  func connectionDrains(_ connection: Connection) {
    draining.append(connection)
    for member in members { member.release(connection) }
    client.stateMayHaveChanged()
  }

  func connectionClosed(_ connection: Connection, _ reason: String) {
    if let index = draining.firstIndex(where: { $0 === connection }) {
      draining.remove(at: index)
    } else if let member = members.first(where: { $0.connection === connection }) {
      member.lost(reason)
      member.release(connection)
    }
    client.stateMayHaveChanged()
  }

  /// An answer asks for another connection.
  private func leave(_ connection: Connection, now: UInt64) {
    if let drainedAt, now < drainedAt + configuration.limits.minimumDrainInterval.unsigned { return }
    drainedAt = now
    connection.drain()
  }

  /// Only for pushes that were certainly not processed.
  private func resendOrFinish(_ push: Push, _ outcome: PushAnswer, now: UInt64) {
    if case .uncertain = outcome { return client.finish(push, outcome, now: now) }
    let mayResend = push.resends < configuration.limits.maximumResends && push.deadline > now && !isShuttingDown
    if mayResend { resend(push) } else { client.finish(push, outcome, now: now) }
  }
}
