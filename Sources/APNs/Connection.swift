import EventLoop

/// One HTTP/2 connection to a gateway: bytes between channel and session, and the pushes in flight.
@EventLoop
final class Connection {
  enum State {
    /// The server's SETTINGS have not come yet; no push is risked.
    case opening
    /// One stream, until an answer has proved the provider token.
    case priming
    case open
    /// No new pushes; answers are still read.
    case draining
    case closed
  }

  /// One full TLS record.
  private static let writeBytes = 16 * 1024
  private static let readBytes = 32 * 1024
  /// Within a long batch of answers the next pushes are written already: else this side and the server would take turns.
  private static let endedPerRefill = 64
  /// Reads before other work of the loop gets its turn.
  private static let readsPerTurn = 64

  private unowned let owner: any ConnectionOwner
  private let channel: SecureChannel
  private let session: HTTP2Session
  private let limits: APNsConfiguration.Limits
  private var source: SocketSource?
  private var watchdog: Watchdog
  private var output: [UInt8] = []
  private var input = [UInt8](repeating: 0, count: readBytes)
  private var isBlocked = false
  /// Writing failed; what the server said before is still to be read.
  private var isWriteBroken = false
  private var lastAnswerAt: UInt64 = 0
  private var primingSince: UInt64 = 0
  private var knownPongs = 0

  private(set) var state = State.opening
  private(set) var inFlight = PushList()
  /// An answer came: the way to APNs works.
  private(set) var hasWorked = false

  init(
    channel: SecureChannel, authority: String, limits: APNsConfiguration.Limits, owner: any ConnectionOwner
  ) throws(APNsError) {
    self.channel = channel
    self.limits = limits
    self.owner = owner
    session = try HTTP2Session(authority: authority)
    watchdog = Watchdog(limits: limits, openedAt: Clock.monotonicNanoseconds)
    output.reserveCapacity(2 * Connection.writeBytes)
    source = SocketSource(
      descriptor: channel.descriptor,
      // Weak references would make every retain of the connection a slow one; the source ends before it.
      onReadable: { [unowned self] in read() },
      onWritable: { [unowned self] in flush(now: Clock.monotonicNanoseconds) })
    guard let source else { throw .connection("out of file descriptors") }
    source.watchReading(true)
  }

  /// How many more pushes may be submitted now.
  var capacity: Int {
    guard !isBlocked else { return 0 }
    switch state {
    case .opening, .draining, .closed: return 0
    case .priming: return max(0, min(1, session.streamLimit) - inFlight.count)
    case .open: return max(0, min(limits.maximumStreams, session.streamLimit) - inFlight.count)
    }
  }

  var isReady: Bool { state == .priming || state == .open }

  /// Takes the push in flight; it leaves with the next `flush`. False: this connection takes no more.
  func submit(_ push: Push, token: ProviderToken, now: UInt64) -> Bool {
    guard session.submit(push, authorization: token.authorization) else {
      drain()
      return false
    }
    push.tokenGeneration = token.generation
    if state == .priming { primingSince = now }
    inFlight.append(push)
    return true
  }

  /// Writes everything that can be written now.
  func flush(now: UInt64) {
    guard state != .closed, !isWriteBroken else { return }
    do throws(APNsError) {
      while true {
        try session.produce(into: &output, target: Connection.writeBytes)
        guard !output.isEmpty else { break }
        guard try writeOutput() else { break }
        watchdog.wrote(now: now)
      }
    } catch {
      // The server has not spoken, and no push was risked: there is only the reason.
      return state == .opening ? close(error.description) : writeFailed()
    }
    // A request that came too late for this connection ends while it is being written.
    report(session.takeEnded(), now: now)
    closeIfDone()
  }

  /// The way to APNs works; should it end, another connection is opened without waiting.
  func answered() { hasWorked = true }

  /// An answer proved that APNs takes the provider token.
  func opened() {
    answered()
    if state == .priming { state = .open }
  }

  /// Takes no more pushes; closes itself after the last answer.
  func drain() {
    guard state != .draining, state != .closed else { return }
    state = .draining
    owner.connectionDrains(self)
    if inFlight.isEmpty { EventLoop.atEndOfTurn { self.closeIfDone() } }
  }

  /// Ends the connection; what is in flight ends with it.
  func close(_ reason: String) {
    guard state != .closed else { return }
    state = .closed
    source?.cancel()
    let now = Clock.monotonicNanoseconds
    while let push = inFlight.popFirst() {
      owner.ended(push, push.stream.isWritten ? .uncertain(reason) : .notProcessed(reason), on: self, now: now)
    }
    owner.connectionClosed(self, reason)
  }

  /// Deadlines and the watchdog; call it about once a second.
  func tick(now: UInt64) {
    guard state != .closed else { return }
    while let push = inFlight.first, push.deadline <= now {
      let isWedged = push.stream.isWritten && lastAnswerAt < push.sentAt
      inFlight.remove(push)
      session.cancel(push)
      owner.ended(push, push.stream.isWritten ? .uncertain("Timeout") : .notProcessed("Timeout"), on: self, now: now)
      // Not one answer in the whole lifetime of a push: a fresh connection may do better.
      if isWedged { drain() }
    }
    // The push that primes must not hold up all others until its deadline.
    if state == .priming, !inFlight.isEmpty, now > primingSince + limits.quietBeforePing.unsigned { drain() }
    switch watchdog.check(now: now, inFlight: inFlight.count) {
    case .wait: break
    case .ping: session.ping()
    case .close(let reason):
      close(reason)
      return
    }
    flush(now: now)
  }

  private func closeIfDone() {
    guard state != .closed else { return }
    if session.isOver { return close("the HTTP/2 session is over") }
    if state == .draining, inFlight.isEmpty { close("drained") }
  }

  /// Answers and a GOAWAY that tells which pushes were not processed may have come before the end: reads up to it.
  private func writeFailed() {
    isWriteBroken = true
    output.removeAll()
    source?.watchWriting(false)
    drain()
    read()
  }

  /// False when the socket is full; writing goes on by itself then.
  private func writeOutput() throws(APNsError) -> Bool {
    var start = 0
    while start < output.count {
      switch channel.send(output[start...]) {
      case .bytes(let count):
        start += count
      case .wouldBlock:
        output.removeFirst(start)
        isBlocked = true
        source?.watchWriting(true)
        return false
      case .ended(let reason):
        throw .connection(reason)
      }
    }
    output.removeAll(keepingCapacity: true)
    if isBlocked {
      isBlocked = false
      source?.watchWriting(false)
      owner.connectionHasRoom(self)
    }
    return true
  }

  private func read() {
    guard state != .closed else { return }
    var reads = 0
    var end: String?
    while end == nil, reads < Connection.readsPerTurn {
      switch channel.receive(into: &input) {
      case .bytes(let count):
        do throws(APNsError) { try session.receive(input[..<count]) } catch { end = error.description }
        reads += 1
      case .wouldBlock:
        if reads > 0 { handleReceived() }
        return
      case .ended(let reason):
        end = reason
      }
    }
    handleReceived()
    if let end { return close(end) }
    EventLoop.run { self.read() }
  }

  private func handleReceived() {
    let now = Clock.monotonicNanoseconds
    let ended = session.takeEnded()
    watchdog.received(now: now, stillInFlight: inFlight.count > ended.count)
    if session.hasSettings, state == .opening {
      state = .priming
      watchdog.receivedSettings()
    }
    if session.pongs != knownPongs {
      knownPongs = session.pongs
      watchdog.receivedPong()
    }
    if session.hasGoaway { drain() }
    if !ended.isEmpty { lastAnswerAt = now }
    report(ended, now: now)
    owner.connectionHasRoom(self)
  }

  private func report(_ ended: [Push], now: UInt64) {
    for push in ended { inFlight.remove(push) }
    for (place, push) in ended.enumerated() {
      owner.ended(push, push.stream.outcome, on: self, now: now)
      if place % Connection.endedPerRefill == Connection.endedPerRefill - 1 { owner.connectionMayTakeMore(self) }
    }
  }
}
