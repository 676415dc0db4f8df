import EventLoop
import HTTPClient
import PushModel
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
  /// As many as are configured, then those that are open while pushes wait for them.
  private var members: [PoolMember] = []
  /// Whether pushes waited at the last tick.
  private var isCrowded = false
  /// The connection whose first push is not answered, beside which its member opens another. The late answer opens it.
  private var late: Connection?
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
  /// When a connection was last replaced because of an answer; on CLOCK_MONOTONIC, nanoseconds.
  private var replacedAt: UInt64?

  init(origin: Origin, client: APNsClient, isStandby: Bool) {
    phase = isStandby ? .standby : .serving
    self.client = client
    configuration = client.configuration
    self.origin = origin
    pause = GatewayPause(backoff: configuration.limits.connectBackoff)
    members = (0..<configuration.connectionsPerEnvironment).map { _ in newMember() }
  }

  private func newMember() -> PoolMember {
    PoolMember(pool: self, origin: origin, configuration: configuration, log: client.log)
  }

  var buffers: SecureChannel.Buffers { client.opensOnDemand ? .small : .full }

  var isStandby: Bool { phase == .standby }

  var queued: Int { waiting.count }

  var inFlight: Int { connections.reduce(0) { $0 + $1.inFlight.count } }

  /// Whether a connection takes pushes.
  var isConnected: Bool { !pause.isPaused && hasConnection }

  private var hasConnection: Bool { late?.isReady == true || members.contains { $0.connection?.isReady == true } }

  /// Since when the gateway has been paused or out of reach; nil if it takes pushes.
  var unavailableSince: UInt64? {
    if let since = pause.since { return since }
    return hasConnection ? nil : members.compactMap(\.unreadySince).min()
  }

  /// The number of connections that take pushes; 0 while the gateway is paused.
  var openConnections: Int { pause.isPaused ? 0 : serving.count { $0.isReady } }

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
    openBesideIfSlow(now: now)
    adjustMembers(now: now)
    if pause.probeIfDue(now: now) {
      // The error may be one of a connection: what probes is younger than the pause.
      if let since = pause.since { replaceOlder(than: since, because: pause.reason, now: now) }
      client.stateMayHaveChanged()
    }
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
      replace(connection, .keyChanged)
    }
  }

  /// Replaces the connections that were opened before `time`.
  func replaceConnections(openedBefore time: UInt64, _ cause: ConnectionEnd) {
    for connection in serving where connection.openedAt < time { replace(connection, cause) }
  }

  /// The next connection opens without delay.
  private func replace(_ connection: Connection, _ cause: ConnectionEnd) {
    connection.recordAnswer()
    connection.drain(cause)
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
  func isDown(now: UInt64) -> Bool { late?.isReady != true && members.allSatisfy { $0.isDown(now: now) } }

  /// Those that may take pushes.
  private var serving: [Connection] {
    let own = members.compactMap(\.connection)
    return late.map { own + [$0] } ?? own
  }

  private var connections: [Connection] { draining.isEmpty ? serving : serving + draining }

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
      let count = configuration.connectionsPerEnvironment
      for offset in 0..<count {
        if let connection = members[(nextMember + offset) % count].connection { fill(connection, now: now) }
      }
      nextMember = (nextMember + 1) % count
      for member in members.dropFirst(count) where !waiting.isEmpty {
        if let connection = member.connection { fill(connection, now: now) }
      }
      if let late { fill(late, now: now) }
    }
    for connection in connections { connection.flush(now: now) }
  }

  private func fill(_ connection: Connection, now: UInt64) {
    if let key = connection.keyIndex, key != client.keys.current { return connection.drain(.keyChanged) }
    var room = min(connection.capacity, roomWhileProbing)
    var window = connection.windowLeft
    // A push that waits here may go over another connection.
    while room > 0, window > 0, let push = waiting.popFirst() {
      if isProbeTooEarly(push, on: connection, now: now) {
        waiting.putBack(push)
        return
      }
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
      window -= push.shared.message.payload.count
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

  private func countAnswer(_ answer: APNsAnswer, now: UInt64) {
    guard let change = pause.record(answer, now: now, random: .random(in: 0...1)) else { return }
    let fields: KeyValuePairs<String, Log.Field> = ["origin": .init(origin.url), "reason": .init(pause.reason)]
    switch change {
    case .paused:
      // Operator: Nothing at first: see Apple's system status and `reason`. `APNs takes pushes again` ends it.
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
    countAnswer(answer, now: now)
    guard answer.isAccepted else { return refused(push, answer, on: connection, now: now) }
    client.accepted(push, answer, now: now)
    connection.forgetRefusals()
    finish(push, outcome, provenBy: connection, now: now)
  }

  private func finish(_ push: Push, _ outcome: SendOutcome, provenBy connection: Connection, now: UInt64) {
    connection.recordProof()
    if late != nil { endLate(unless: connection) }
    client.finish(push, outcome, now: now)
  }

  private func refused(_ push: Push, _ answer: APNsAnswer, on connection: Connection, now: UInt64) {
    var answer = answer
    let reaction = client.handle(&answer, for: push, on: connection, now: now)
    connection.recordRefusal(answer.meaning)
    switch reaction {
    case .finish: finish(push, .answered(answer), provenBy: connection, now: now)
    case .refused: client.finish(push, .answered(answer), now: now)
    case .resend: resendOrFinish(push, .answered(answer), now: now)
    case .resendElsewhere:
      replace(connection, because: answer, now: now)
      resendOrFinish(push, .answered(answer), now: now)
    case .leave:
      leave(connection, because: answer, now: now)
      resendOrFinish(push, .answered(answer), now: now)
    }
    if connection.refusedInARow >= ConnectionPool.refusalsBeforeReplacement {
      replace(connection, because: answer, now: now)
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
    if late === connection { late = nil }
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
    if late === connection {
      late = nil
    } else if let index = draining.firstIndex(where: { $0 === connection }) {
      draining.remove(at: index)
    } else if let member = members.first(where: { $0.connection === connection }) {
      wasOpened ? member.lost(end) : member.announceOutage(end.text)
      member.release(connection)
    }
    client.stateMayHaveChanged()
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

// Connections beyond those that are configured.
extension ConnectionPool {
  /// Pushes that wait for flow control or a free stream, while there is a connection.
  var heldBack: Int { hasConnection && !pause.isPaused ? waiting.count : 0 }

  /// Opens one more connection if pushes wait, as they did at the last tick, and closes those that nothing needs any more.
  private func adjustMembers(now: UInt64) {
    let wasCrowded = isCrowded
    isCrowded = heldBack > 0 && serving.allSatisfy { !$0.isReady || $0.isHeldBack }
    if isCrowded, wasCrowded, phase == .serving, members.count < configuration.maximumConnections,
      members.allSatisfy({ $0.connection?.isReady == true })
    {
      let member = newMember()
      members.append(member)
      member.open()
    }
    for index in members.indices.dropFirst(configuration.connectionsPerEnvironment).reversed() {
      guard let connection = members[index].connection, connection.inFlight.isEmpty,
        now > max(connection.usedAt, connection.openedAt) + configuration.limits.idleBeforeClose.unsignedNanoseconds
      else { continue }
      members[index].stop()
      members.remove(at: index)
      connection.drain(.notNeeded)
    }
  }
}

// Connections that may be at fault.
extension ConnectionPool {
  /// A connection is replaced after this many answers in a row that all refused gateway, provider or topic.
  private static let refusalsBeforeReplacement = 20

  /// Drains the connection because an answer asks for another one.
  private func leave(_ connection: Connection, because answer: APNsAnswer, now: UInt64) {
    guard mayReplace(within: configuration.limits.minimumDrainInterval, now: now) else { return }
    replacedAt = now
    connection.drain(.answered(answer.reason ?? ""))
  }

  /// Replaces the connection because of what it refuses.
  private func replace(_ connection: Connection, because answer: APNsAnswer, now: UInt64) {
    guard connection.isReady, mayReplace(within: configuration.limits.minimumReplacementInterval, now: now)
    else { return }
    replacedAt = now
    replace(connection, .refused(answer.reason ?? ""))
  }

  /// Replaces the connections that are older than a pause.
  private func replaceOlder(than pausedAt: UInt64, because reason: String, now: UInt64) {
    guard serving.contains(where: { $0.openedAt < pausedAt }),
      mayReplace(within: configuration.limits.minimumReplacementInterval, now: now)
    else { return }
    replacedAt = now
    replaceConnections(openedBefore: pausedAt, .refused(reason))
  }

  private func mayReplace(within interval: Duration, now: UInt64) -> Bool {
    replacedAt.map { now >= $0 + interval.unsignedNanoseconds } ?? true
  }

  /// Whether the push is to probe its route, and the connection is replaced first, as it is older than the pause.
  private func isProbeTooEarly(_ push: Push, on connection: Connection, now: UInt64) -> Bool {
    guard let route = push.route, route.isProbeDue(now: now), connection.openedAt < route.pausedAt else { return false }
    replaceOlder(than: route.pausedAt, because: route.pause?.reason ?? "", now: now)
    return !connection.isReady
  }

  /// A gateway that answers late is not down: while it answers PINGs its connection is kept, and another one is opened beside it.
  private func openBesideIfSlow(now: UInt64) {
    guard late == nil, phase != .shuttingDown,
      let member = members.first(where: { $0.connection?.isPrimingSlow(now: now) == true }),
      let connection = member.connection
    else { return }
    late = connection
    member.release(connection)
  }

  /// Another connection has become open: the late one is not needed.
  private func endLate(unless connection: Connection) {
    guard let late, late !== connection else { return }
    late.drain(late.hasWorked ? .notNeeded : .noAnswer)
  }
}
