import EventLoop
import HTTPClient
import Telemetry

/// The connections to one gateway and the pushes that wait for them.
@EventLoop
final class ConnectionPool {
  private enum Phase {
    /// Opened to find out whether this gateway can be reached while the default one cannot; no push needs it.
    case standby
    case serving
    case shuttingDown
  }

  /// The reason of pushes that end because ``APNsClient/mayWrite`` is false.
  nonisolated static let writingForbidden = "LeaseInDoubt"

  private unowned let client: APNsClient
  private let configuration: APNsConfiguration
  private var members: [PoolMember] = []
  /// Connections that take no more pushes but may still receive answers.
  private var draining: [Connection] = []
  private var waiting = PushList()
  private var isFillScheduled = false
  private var nextMember = 0
  private var phase: Phase
  private var pause: GatewayPause
  let origin: Origin
  /// When a push was last sent here; on CLOCK_MONOTONIC, nanoseconds.
  private(set) var usedAt = Clock.monotonicNanoseconds
  /// When an answer last asked for another connection; on CLOCK_MONOTONIC, nanoseconds.
  private var drainedAt: UInt64?

  init(origin: Origin, client: APNsClient, isStandby: Bool) {
    phase = isStandby ? .standby : .serving
    self.client = client
    configuration = client.configuration
    self.origin = origin
    pause = GatewayPause(backoff: configuration.limits.connectBackoff)
    members = (0..<configuration.connectionsPerEnvironment).map { _ in
      PoolMember(pool: self, origin: origin, configuration: configuration, log: client.log)
    }
  }

  var buffers: SecureChannel.Buffers { client.opensOnDemand ? .small : .full }

  var isStandby: Bool { phase == .standby }

  var queued: Int { waiting.count }

  var inFlight: Int { connections.reduce(0) { $0 + $1.inFlight.count } }

  /// Whether a connection takes pushes.
  var isConnected: Bool { !pause.isPaused && hasConnection }

  private var hasConnection: Bool { members.contains { $0.connection?.isReady == true } }

  /// Since when the gateway has been paused or out of reach; nil if it takes pushes.
  var unavailableSince: UInt64? {
    if let since = pause.since { return since }
    return hasConnection ? nil : members.compactMap(\.unreadySince).min()
  }

  /// The number of connections that take pushes; 0 while the gateway is paused.
  var openConnections: Int { pause.isPaused ? 0 : members.count { $0.connection?.isReady == true } }

  func open() {
    for member in members { member.open() }
  }

  func send(_ push: Push) {
    if phase == .standby { phase = .serving }
    usedAt = push.sentAt
    waiting.append(push)
    scheduleFill()
  }

  /// Puts the push back at the front of the queue.
  private func resend(_ push: Push) {
    push.resends += 1
    client.instruments.resends.increment()
    waiting.putBack(push)
    scheduleFill()
  }

  func tick(now: UInt64) {
    endWaiting(now: now)
    for connection in connections { connection.tick(now: now) }
    if pause.probeIfDue(now: now) { client.stateMayHaveChanged() }
    scheduleFill()
  }

  /// Ends queued pushes now and written ones when they are answered.
  func shutdown() {
    phase = .shuttingDown
    let open = connections
    for member in members { member.stop() }
    while let push = waiting.popFirst() { client.leave(push, .notProcessed("ShuttingDown")) }
    for connection in open { connection.drain(.closed) }
  }

  /// Replaces the connections of another key than the one that signs.
  func renewConnections() {
    for connection in connections where connection.keyIndex != nil && connection.keyIndex != client.keys.current {
      connection.recordAnswer()
      connection.drain(.keyChanged)
    }
  }

  func close() {
    for connection in connections { connection.close(.closed) }
  }

  /// Ends pushes that have waited too long. Without a connection or during a pause they end at once, because they hold
  /// permits that other routes need.
  private func endWaiting(now: UInt64) {
    guard !waiting.isEmpty else { return }
    let mayWait = !pause.isPaused && !isDown(now: now) && mayWrite
    while let push = waiting.first, !mayWait || push.deadline <= now {
      waiting.remove(push)
      client.finish(push, .notProcessed(whyWaiting), now: now)
    }
  }

  /// The number of connections that it opens.
  var size: Int { members.count }

  /// Returns whether no push was sent here for `duration`, and none is waiting or in flight.
  func isIdle(for duration: Duration, now: UInt64) -> Bool {
    waiting.isEmpty && now > usedAt && now - usedAt > duration.unsignedNanoseconds && inFlight == 0
  }

  /// Returns whether the gateway is paused, or has been out of reach for longer than the outage patience.
  func isUnavailable(now: UInt64) -> Bool { pause.isPaused || isDown(now: now) }

  /// Returns whether no member has been ready for longer than the outage patience.
  func isDown(now: UInt64) -> Bool { members.allSatisfy { $0.isDown(now: now) } }

  private var connections: [Connection] { members.compactMap(\.connection) + draining }

  /// Why a push is not sent yet.
  private var whyWaiting: String {
    if !mayWrite { return ConnectionPool.writingForbidden }
    if pause.isPaused { return "GatewayPaused: \(pause.reason)" }
    if hasConnection { return "Timeout" }
    let error = members.lazy.map(\.lastError).first { !$0.isEmpty }
    return error.map { "NoConnection: \($0)" } ?? "NoConnection"
  }

  /// Whether pushes may be written at present.
  var mayWrite: Bool { client.mayWrite?() ?? true }

  private func scheduleFill() {
    guard !isFillScheduled else { return }
    isFillScheduled = true
    EventLoop.atEndOfTurn { self.fill() }
  }

  /// Distributes the waiting pushes over the members, round robin, and writes them: one write per turn of the loop.
  private func fill() {
    isFillScheduled = false
    let now = Clock.monotonicNanoseconds
    endWaiting(now: now)
    if !waiting.isEmpty, client.keys.token.prepare(now: now) {
      for offset in members.indices {
        let member = members[(nextMember + offset) % members.count]
        if let connection = member.connection { fill(connection, now: now) }
      }
      nextMember = (nextMember + 1) % members.count
    }
    for connection in connections { connection.flush(now: now) }
  }

  private func fill(_ connection: Connection, now: UInt64) {
    if let key = connection.keyIndex, key != client.keys.current { return connection.drain(.keyChanged) }
    var room = min(connection.capacity, roomWhileProbing)
    while room > 0, let push = waiting.popFirst() {
      client.startProbeIfDue(push, now: now)
      if let refusal = client.refusalByRoute(push, now: now) {
        client.finish(push, refusal, now: now)
        continue
      }
      guard connection.submit(push, keys: client.keys, now: now) else {
        waiting.putBack(push)
        return
      }
      room -= 1
    }
  }
}

// Errors of the gateway itself.
extension ConnectionPool {
  /// How many pushes may be written while the gateway is probed or paused; unlimited otherwise.
  private var roomWhileProbing: Int {
    guard let limit = pause.limit else { return .max }
    return max(0, limit - inFlight)
  }

  private func noteAnswer(_ answer: APNsAnswer, now: UInt64) {
    guard let change = pause.record(answer, now: now, random: .random(in: 0...1)) else { return }
    let fields: KeyValuePairs<String, Log.Field> = ["origin": .init(origin.url), "reason": .init(pause.reason)]
    switch change {
    case .paused:
      client.log.warn("APNs answers every push with an error: jobs wait, one push at a time tries it", fields)
    case .resumed: client.log.info("APNs takes pushes again", fields)
    }
    client.stateMayHaveChanged()
  }
}

// Called by connections and members.
extension ConnectionPool {
  func ended(_ push: Push, _ outcome: SendOutcome, on connection: Connection, now: UInt64) {
    guard case .answered(let answer) = outcome else {
      resendOrFinish(push, outcome, now: now)
      return
    }
    noteAnswer(answer, now: now)
    switch client.handle(answer, for: push, now: now) {
    case .finish:
      connection.recordProof()
      client.finish(push, outcome, now: now)
    case .refused:
      client.finish(push, outcome, now: now)
    case .resend:
      push.tokenResends += 1
      resendOrFinish(push, outcome, now: now)
    case .resendRenewed:
      push.tokenResends += 1
      connection.recordAnswer()
      connection.drain(.answered(answer.reason ?? ""))
      resendOrFinish(push, outcome, now: now)
    case .resendElsewhere:
      leave(connection, because: answer, now: now)
      resendOrFinish(push, outcome, now: now)
    }
  }

  func connectionOpened() {
    client.instruments.connections.increment()
  }

  /// There may be free streams, or bytes to write.
  func connectionHasRoom(_ connection: Connection) {
    if connection.isReady { members.first { $0.connection === connection }?.recovered() }
    client.stateMayHaveChanged()
    scheduleFill()
  }

  /// There may be free streams in the middle of a batch of answers: writes waiting pushes at once.
  func connectionMayTakeMore(_ connection: Connection) {
    if connection.isReady, !waiting.isEmpty { fill() }
  }

  /// The connection takes no more pushes; its member needs another one.
  func connectionDrains(_ connection: Connection) {
    draining.append(connection)
    for member in members {
      // Before the first answer a GOAWAY is an outage: the next connection is likely to end in the same way.
      if member.connection === connection, !connection.hasWorked, let end = connection.end, case .goaway = end {
        member.lost(end)
      }
      member.release(connection)
    }
    client.stateMayHaveChanged()
  }

  func connectionClosed(_ connection: Connection, _ end: ConnectionEnd, now: UInt64) {
    // Before there was HTTP/2 it is no end, but a connection that could not be opened.
    let wasOpened = if case .lost = end { connection.wasReady } else { true }
    if wasOpened {
      let seconds = (now - min(now, connection.openedAt)) / 1_000_000_000
      client.ends.record(end, origin: origin, seconds: seconds, now: now)
    }
    if let index = draining.firstIndex(where: { $0 === connection }) {
      draining.remove(at: index)
    } else if let member = members.first(where: { $0.connection === connection }) {
      wasOpened ? member.lost(end) : member.announceOutage(end.text)
      member.release(connection)
    }
    client.stateMayHaveChanged()
  }

  /// Drains the connection because an answer asks for another one, unless that happened recently.
  private func leave(_ connection: Connection, because answer: APNsAnswer, now: UInt64) {
    if let drainedAt, now < drainedAt + configuration.limits.minimumDrainInterval.unsignedNanoseconds { return }
    drainedAt = now
    connection.drain(.answered(answer.reason ?? ""))
  }

  /// Sends the push again if it was certainly not processed and limits allow it; otherwise ends it.
  private func resendOrFinish(_ push: Push, _ outcome: SendOutcome, now: UInt64) {
    if case .uncertain = outcome { return client.finish(push, outcome, now: now) }
    guard push.resends < configuration.limits.maximumResends, push.deadline > now else {
      return client.finish(push, outcome, now: now)
    }
    guard phase == .shuttingDown else { return resend(push) }
    if client.isReplaced { client.leave(push, outcome) } else { client.finish(push, outcome, now: now) }
  }
}
