import EventLoop
import HTTPClient

/// One HTTP/2 connection to a gateway: moves bytes between channel and session, and keeps the pushes in flight.
///
/// Its pool outlives it and receives what happens on it.
@EventLoop
final class Connection {
  enum State {
    /// Waits for the server's SETTINGS; no push is sent.
    case opening
    /// Allows one stream, until an answer proves the provider token.
    case priming
    case open
    /// Takes no new pushes; answers are still read.
    case draining
    case closed
  }

  private enum Writing {
    case possible, blocked
    /// Writing failed; what the server sent before is still to be read.
    case failed
  }

  /// One full TLS record.
  private static let writeBytes = 16 * 1024
  private static let readBytes = 32 * 1024
  /// After this many answers of a batch, the next pushes are written, so that client and server work at the same time.
  private static let endedPerRefill = 64
  /// Maximum number of reads in one turn of the loop.
  private static let readsPerTurn = 64

  private unowned let pool: ConnectionPool
  private let channel: SecureChannel
  private let session: HTTP2Session
  private let limits: APNsConfiguration.Limits
  private var source: SocketSource?
  private var watchdog: Watchdog
  private var output: [UInt8] = []
  /// Reading ends within a turn of the loop, so that all connections share it.
  private static var input = [UInt8](repeating: 0, count: readBytes)
  private var writing = Writing.possible
  /// Since when a push waits for its answer and none has come; nil if nothing is in flight.
  private var unansweredSince: UInt64?
  private var knownPongs = 0

  private(set) var state = State.opening
  /// Why it ends; nil before.
  private(set) var end: ConnectionEnd?
  /// On CLOCK_MONOTONIC, nanoseconds.
  let openedAt = Clock.monotonicNanoseconds
  private(set) var inFlight = PushList()
  /// Whether APNs has answered on this connection.
  private(set) var hasWorked = false
  /// Answers since the last one that was about a device: all of them refused gateway, provider or topic.
  private(set) var refusedInARow = 0
  /// When a push was last submitted; on CLOCK_MONOTONIC, nanoseconds.
  private(set) var usedAt: UInt64 = 0
  private var highestStreamLimit = 0
  /// The key of its first push, to which APNs ties the connection.
  private(set) var keyIndex: Int?

  init(
    channel: SecureChannel, authority: String, limits: APNsConfiguration.Limits, pool: ConnectionPool
  ) throws(APNsError) {
    self.channel = channel
    self.limits = limits
    self.pool = pool
    session = try HTTP2Session(authority: authority)
    watchdog = Watchdog(limits: limits, openedAt: openedAt)
    source = SocketSource(
      descriptor: channel.descriptor,
      // Weak references would slow down every retain of the connection. The source ends before it.
      onReadable: { [unowned self] in read() },
      onWritable: { [unowned self] in flush(now: Clock.monotonicNanoseconds) })
    guard let source else { throw .connection("out of file descriptors") }
    source.watchReading(true)
  }

  /// How many more pushes may be submitted now.
  var capacity: Int {
    guard writing != .blocked else { return 0 }
    switch state {
    case .opening, .draining, .closed: return 0
    case .priming: return max(0, min(1, session.streamLimit) - inFlight.count)
    case .open:
      let limit = session.streamLimit
      highestStreamLimit = max(highestStreamLimit, limit)
      return max(0, min(limits.maximumStreams, limit) - inFlight.count)
    }
  }

  /// Bytes of payloads that may be submitted now. One push more may be: it waits on the connection.
  var windowLeft: Int { session.windowLeft }

  /// Whether another connection would send what waits: the window is used up, or few streams are allowed of what were allowed before,
  /// or one alone although the provider token is proven.
  var isHeldBack: Bool {
    session.windowLeft <= 0 || (state == .open && session.streamLimit <= max(1, highestStreamLimit / 2))
  }

  /// Whether the server has sent its SETTINGS.
  var wasReady: Bool { session.hasSettings }

  var isReady: Bool { state == .priming || state == .open }

  /// Adds the push to those in flight; the next `flush` writes it. Returns false if no more streams can be opened.
  func submit(_ push: Push, keys: ProviderKeyRing, now: UInt64) -> Bool {
    guard session.submit(push, authorization: keys.token.authorization) else {
      drain(.streamsUsedUp)
      return false
    }
    push.tokenGeneration = keys.token.generation
    push.keyIndex = keys.current
    push.submittedAt = now
    usedAt = now
    keyIndex = keys.current
    if unansweredSince == nil { unansweredSince = now }
    inFlight.append(push)
    return true
  }

  /// Writes everything that can be written now.
  func flush(now: UInt64) {
    guard state != .closed, writing != .failed else { return }
    if session.unwritten > 0 || writing == .blocked, !pool.mayWrite { endUnwritten(now: now) }
    guard state != .closed else { return }
    do throws(APNsError) {
      while true {
        try session.produce(into: &output, target: Connection.writeBytes)
        guard !output.isEmpty else { break }
        guard try writeOutput() else { break }
        watchdog.wrote(now: now)
      }
    } catch {
      // Nothing was received and no push was sent, so there is nothing left to read.
      return state == .opening ? close(.lost(error.description)) : writeFailed(error)
    }
    // A request that came too late for this connection ends while it is written.
    report(session.takeEnded(), now: now)
    closeIfDone()
  }

  /// Records that APNs has answered: when the connection ends, it is replaced without delay.
  func recordAnswer() { hasWorked = true }

  /// An acceptance says that the connection is good.
  func forgetRefusals() { refusedInARow = 0 }

  /// Records what a refusal says of the connection.
  func recordRefusal(_ meaning: AnswerMeaning) {
    refusedInARow = meaning.isOfConnection ? refusedInARow + 1 : 0
  }

  /// Whether the push that primes it is not answered yet, although others wait.
  func isPrimingSlow(now: UInt64) -> Bool {
    state == .priming && isUnanswered(for: limits.quietBeforePing, now: now)
  }

  private func isUnanswered(for duration: Duration, now: UInt64) -> Bool {
    unansweredSince.map { now > $0 + duration.unsignedNanoseconds } ?? false
  }

  /// Records an answer which proves that APNs accepts the provider token.
  func recordProof() {
    recordAnswer()
    if state == .priming { state = .open }
  }

  /// Takes no more pushes, and closes after the last answer.
  func drain(_ cause: ConnectionEnd) {
    logEnd(cause)
    guard state != .draining, state != .closed else { return }
    state = .draining
    pool.connectionDrains(self)
    if inFlight.isEmpty { EventLoop.atEndOfTurn { self.closeIfDone() } }
  }

  /// Closes the connection and ends the pushes in flight.
  func close(_ cause: ConnectionEnd) {
    guard state != .closed else { return }
    state = .closed
    logEnd(cause)
    source?.cancel()
    let now = Clock.monotonicNanoseconds
    let reason = cause.text
    while let push = inFlight.popFirst() {
      pool.ended(push, push.stream.isWritten ? .uncertain(reason) : .notProcessed(reason), on: self, now: now)
    }
    pool.connectionClosed(self, end ?? cause, now: now)
  }

  /// The first cause counts, unless a later one says more.
  private func logEnd(_ cause: ConnectionEnd) {
    if end.map(cause.says(moreThan:)) ?? true { end = cause }
  }

  /// Checks deadlines and the watchdog. Call it about once a second.
  func tick(now: UInt64) {
    guard state != .closed else { return }
    while let push = inFlight.first, push.deadline <= now {
      inFlight.remove(push)
      session.cancel(push)
      pool.ended(push, push.stream.isWritten ? .uncertain("Timeout") : .notProcessed("Timeout"), on: self, now: now)
    }
    // There was no answer for as long as a push may take: a new connection may work.
    if isUnanswered(for: limits.requestTimeout - limits.tick, now: now) { drain(.noAnswer) }
    if inFlight.isEmpty { unansweredSince = nil }
    switch watchdog.tick(now: now, inFlight: inFlight.count) {
    case .wait: break
    case .ping: session.ping()
    case .close(let cause): return close(cause)
    }
    flush(now: now)
  }

  /// Writing is forbidden: ends the pushes that wait for the peer's flow control. If the socket has not taken all bytes of
  /// others, only closing keeps these from being sent.
  private func endUnwritten(now: UInt64) {
    let reason = ConnectionPool.writingForbidden
    guard writing != .blocked else { return inFlight.isEmpty ? () : close(.writingForbidden) }
    var next = inFlight.first
    while let push = next {
      next = push.next
      guard !push.stream.isWritten else { continue }
      inFlight.remove(push)
      session.cancel(push)
      pool.ended(push, .notProcessed(reason), on: self, now: now)
    }
  }

  private func closeIfDone() {
    guard state != .closed else { return }
    if session.isOver { return close(.invalid("the HTTP/2 session is over")) }
    if state == .draining, inFlight.isEmpty { close(end ?? .closed) }
  }

  /// Reads what came before the end: answers, or a GOAWAY that names the pushes that were not processed.
  private func writeFailed(_ error: APNsError) {
    writing = .failed
    output.removeAll()
    source?.watchWriting(false)
    drain(.lost(error.description))
    read()
  }

  /// Returns false if the socket is full; writing continues when it has room.
  private func writeOutput() throws(APNsError) -> Bool {
    var start = 0
    while start < output.count {
      switch channel.send(output[start...]) {
      case .bytes(let count):
        start += count
      case .wouldBlock:
        output.removeFirst(start)
        writing = .blocked
        source?.watchWriting(true)
        return false
      case .ended(let reason):
        throw .connection(reason)
      }
    }
    output.removeAll(keepingCapacity: true)
    if writing == .blocked {
      writing = .possible
      source?.watchWriting(false)
      pool.connectionHasRoom(self)
    }
    return true
  }

  private func read() {
    guard state != .closed else { return }
    var reads = 0
    var cause: ConnectionEnd?
    while cause == nil, reads < Connection.readsPerTurn {
      switch channel.receive(into: &Connection.input) {
      case .bytes(let count):
        do throws(APNsError) {
          try session.receive(Connection.input[..<count])
        } catch {
          cause = .invalid(error.description)
        }
        reads += 1
      case .wouldBlock:
        if reads > 0 { handleReceived() }
        return
      case .ended(let reason):
        cause = .lost(reason)
      }
    }
    handleReceived()
    if let cause { return close(cause) }
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
    if let goaway = session.takeGoaway() { drain(goaway) }
    if !ended.isEmpty { unansweredSince = inFlight.count > ended.count ? now : nil }
    report(ended, now: now)
    pool.connectionHasRoom(self)
  }

  private func report(_ ended: [Push], now: UInt64) {
    for push in ended { inFlight.remove(push) }
    for (index, push) in ended.enumerated() {
      pool.ended(push, push.stream.outcome, on: self, now: now)
      if (index + 1) % Connection.endedPerRefill == 0 { pool.connectionMayTakeMore(self) }
    }
  }
}
