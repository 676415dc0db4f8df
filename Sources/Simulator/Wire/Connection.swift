import CNGHTTP2
import EventLoop

/// The connection of one client: TLS, HTTP/2, and the answers of the gateway.
@EventLoop
final class Connection {
  /// Minimum bytes of a write while there is more to send: one TLS record.
  private static let writeSize = 16_384
  /// Maximum reads in one turn of the loop.
  private static let readsPerTurn = 16

  private unowned let gateway: Gateway
  private let port: RequestTarget.Port
  private let number: Int
  private let socket: TLSSocket
  /// 0 if it is unknown.
  private let clientPort: Int
  private var source: SocketSource?
  private var session: HTTP2Session?
  private var streams: [PushStream] = []
  private var freeStreams: [Int] = []
  private var input = [UInt8](repeating: 0, count: writeSize)
  private var output: [UInt8] = []
  /// Frames that nghttp2 does not send, for the output behind its own.
  private var ownFrames: [UInt8] = []
  private var sent = 0
  /// In the order in which they are due.
  private var delayed = FrontQueue<Delayed>()
  private var delayTimer: LoopTimer?
  private var provider = ConnectionProvider()
  /// Whether a refusal has lowered the limit of streams to one, until the next acceptance.
  private var isLowered = false
  /// Given free, and not announced yet.
  private var freeBytes = 0
  /// Streams with a higher id are not processed.
  private var lastStream = Int32.max
  private var highestProcessed: Int32 = 0
  private var closesAfterFlush = false
  /// Whether the client does not take the output. Nothing is read meanwhile, so no more output than that of one read waits.
  private var isBlocked = false
  /// Runs until the TLS handshake is finished.
  private var handshakeTimer: LoopTimer?

  /// Whether the connection is to be closed when the session returns.
  private(set) var isCut = false

  /// Takes ownership of the descriptor. Returns nil if memory or descriptors are exhausted.
  init?(descriptor: Int32, port: RequestTarget.Port, gateway: Gateway) {
    guard let socket = TLSSocket(descriptor: descriptor, context: gateway.tls) else { return nil }
    self.socket = socket
    clientPort = ClientPort.of(descriptor)
    self.gateway = gateway
    self.port = port
    number = gateway.faults.newestConnection
    output.reserveCapacity(2 * Connection.writeSize)
    // Unowned, because a weak reference would slow down all others. `close` ends source and timer.
    session = HTTP2Session(
      connection: self, maximumStreams: gateway.settings.initialStreams, isLikeApple: gateway.settings.isLikeApple)
    if let goaway = gateway.faults.greeting { goAway(goaway) }
    source = SocketSource(
      descriptor: descriptor, onReadable: { [unowned self] in read() }, onWritable: { [unowned self] in write() })
    guard session != nil, let source else { return nil }
    source.watchReading(true)
    handshakeTimer = .after(gateway.settings.handshakeTime) { [unowned self] in close() }
  }

  /// Applies a change of the settings.
  func updateMaximumStreams() {
    guard provider.isKnown || !gateway.settings.checksAuthorization else { return }
    session?.setMaximumStreams(gateway.settings.maximumStreams)
    flush()
  }

  func close() {
    guard let source else { return }
    source.cancel()
    self.source = nil
    session = nil
    // Their release may be delayed by a turn, in which they must not fire.
    delayTimer?.cancel()
    delayTimer = nil
    handshakeTimer?.cancel()
    handshakeTimer = nil
    gateway.remove(self)
  }

  private func read() {
    for _ in 0..<Connection.readsPerTurn {
      guard source != nil, !isBlocked else { return }
      switch socket.read(into: &input) {
      case .bytes(let count):
        let isGood = input.withUnsafeBufferPointer {
          session?.receive(UnsafeBufferPointer(rebasing: $0[..<count])) ?? false
        }
        if isCut { return close() }
        guard isGood else {
          flush()
          return close()
        }
        flush()
      case .waits(let forWriting):
        if forWriting { source?.watchWriting(true) }
        return flush()
      case .closed:
        return close()
      }
    }
    // Bytes that TLS has buffered do not make the socket readable.
    EventLoop.atEndOfTurn { self.read() }
  }

  private func write() {
    guard !socket.isSecured else { return flush() }
    // The handshake can continue.
    source?.watchWriting(false)
    read()
  }

  private func flush() {
    guard let source, let session, socket.isSecured else { return }
    endHandshake()
    while true {
      if sent == output.count {
        output.removeAll(keepingCapacity: true)
        sent = 0
        session.appendOutput(to: &output, upTo: Connection.writeSize)
        output += ownFrames
        ownFrames.removeAll()
      }
      guard !output.isEmpty else { break }
      switch socket.write(output[sent...]) {
      case .bytes(let count): sent += count
      case .waits: return block(source)
      case .closed: return close()
      }
    }
    unblock(source)
    if session.isFinished || closesAfterFlush {
      socket.shutdown()
      close()
    }
  }

  private func block(_ source: SocketSource) {
    isBlocked = true
    source.watchReading(false)
    source.watchWriting(true)
  }

  private func unblock(_ source: SocketSource) {
    source.watchWriting(false)
    guard isBlocked else { return }
    isBlocked = false
    source.watchReading(true)
    EventLoop.atEndOfTurn { self.read() }
  }

  private func endHandshake() {
    guard let handshakeTimer else { return }
    handshakeTimer.cancel()
    self.handshakeTimer = nil
    gateway.handshakeEnded(self)
  }
}

// Called by the session while it reads.
extension Connection {
  func streamBegan(_ id: Int32) -> Int {
    if let slot = freeStreams.popLast() { return slot }
    streams.append(PushStream())
    return streams.count - 1
  }

  func streamHeader(_ slot: Int, _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    guard slot >= 0 else { return }
    streams[slot].head.append(name, value)
  }

  func streamHeadEnded(_ id: Int32, _ slot: Int) {
    guard gateway.faults.answersEarly, id <= lastStream, streams[slot].earlyAnswer == nil else { return }
    let head = streams[slot].head
    guard RequestTarget(head, on: port) == .push else { return }
    let refusal = checkingProvider { gateway.refusal(ofHead: head, provider: &$0, now: Clock.unixNanoseconds) }
    let answer = refusal ?? .accepted
    streams[slot].earlyAnswer = answer
    send(answer, id, slot, pushID: streams[slot].head.pushID.text)
  }

  func streamBody(_ id: Int32, _ slot: Int, _ bytes: UnsafeRawBufferPointer) {
    if gateway.settings.isLikeApple {
      session?.consume(bytes.count, of: id)
      if !delay(.credit(bytes.count)) { giveFree(bytes.count) }
    }
    guard slot >= 0 else { return }
    streams[slot].receive(bytes)
  }

  func streamEnded(_ id: Int32, _ slot: Int) {
    guard id <= lastStream, !isCut else { return }
    let target = RequestTarget(streams[slot].head, on: port)
    let effect = gateway.takeEffect(on: streams[slot].head, target, connection: number)
    let arrival = Clock.unixNanoseconds
    guard effect.isProcessed else {
      if target == .push { journal(arrival, nil, effect, slot) }
      return apply(effect, .accepted, id, slot, pushID: [])
    }
    highestProcessed = max(highestProcessed, id)
    var answer =
      streams[slot].earlyAnswer
      ?? checkingProvider { gateway.answer(to: streams[slot], target, provider: &$0, now: arrival) }
    if case .answer(let forced) = effect { answer = forced }
    let (pushID, text) = target == .push ? streams[slot].head.pushID : streams[slot].head.requestIdentifier
    if answer.isAccepted { answer = gateway.perform(target, streams[slot], id: pushID, now: arrival) }
    if gateway.settings.isLikeApple { adjustStreams(after: answer) }
    guard target == .push else {
      answer.isOfChannels = true
      return apply(effect, answer, id, slot, pushID: text)
    }
    journal(arrival, answer, effect, slot)
    apply(effect, answer, id, slot, pushID: text)
    gateway.ledger.record(
      &streams[slot].head, id: pushID, payloadBytes: streams[slot].bodyCount, arrival: arrival, answer: answer)
  }

  func streamClosed(_ slot: Int) {
    streams[slot].removeAll()
    freeStreams.append(slot)
  }

  func streamAnswer(_ slot: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard slot >= 0 else { return 0 }
    let part = streams[slot].answerBody.prefix(buffer.count)
    buffer.copyBytes(from: part)
    streams[slot].answerBody.removeFirst(part.count)
    return part.count
  }

  /// nghttp2 has reset a stream with this code. One above a lowered limit is reset twice; nghttp2 does not know it any more.
  func streamWasReset(_ id: Int32, code: UInt32) {
    guard isLowered, code == NGHTTP2_REFUSED_STREAM.rawValue else { return }
    let header: [UInt8] = [0, 0, 4, UInt8(NGHTTP2_RST_STREAM.rawValue), 0]
    ownFrames += header + bytes(of: UInt32(id)) + bytes(of: NGHTTP2_STREAM_CLOSED.rawValue)
  }

  private func bytes(of value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { Array($0) } }

  func pinged(_ opaque: UInt64) {
    if gateway.faults.answersPings { session?.acknowledgePing(opaque) }
  }
}

extension Connection {
  private func journal(_ arrival: UInt64, _ answer: Answer?, _ effect: FaultEffect, _ slot: Int) {
    guard let journal = gateway.journal else { return }
    journal.append(
      JournalEntry(arrival: arrival, clientPort: clientPort, answer: answer, effect: effect), streams[slot])
  }

  /// Applies a fault, or sends the answer if there is none.
  private func apply(_ effect: FaultEffect, _ answer: Answer, _ id: Int32, _ slot: Int, pushID: ArraySlice<UInt8>) {
    switch effect {
    case .none, .answer:
      send(answer, id, slot, pushID: pushID)
    case .reset(let code, _):
      session?.reset(id, code: code)
    case .stall:
      break
    case .drop:
      isCut = true
    case .goaway(let goaway):
      if !goaway.isAbrupt { send(answer, id, slot, pushID: pushID) }
      goAway(goaway)
    }
  }

  private func goAway(_ goaway: Goaway) {
    lastStream = highestProcessed
    if goaway.isTwice { session?.goAway(last: lastStream, code: 0, text: []) }
    session?.goAway(last: lastStream, code: goaway.code, text: Array(goaway.text.utf8))
    closesAfterFlush = goaway.isAbrupt
  }

  // MARK: - As is recorded of Apple

  /// A refusal lowers the limit of streams to one, an acceptance restores it. A 410 does not count.
  private func adjustStreams(after answer: Answer) {
    guard provider.isKnown, answer.isAccepted == isLowered, answer.status != 410 else { return }
    isLowered = !answer.isAccepted
    session?.setMaximumStreams(isLowered ? 1 : gateway.settings.maximumStreams)
  }

  /// As netty: an update follows when more than half of the window is free. The half that is exactly filled waits for more.
  private func giveFree(_ count: Int) {
    freeBytes += count
    guard freeBytes > HTTP2Session.defaultWindow / 2 else { return }
    session?.consume(freeBytes)
    freeBytes = 0
  }

  private func send(_ answer: Answer, _ id: Int32, _ slot: Int, pushID: ArraySlice<UInt8>) {
    if delay(.answer(answer, stream: id, pushID: Array(pushID))) { return }
    submit(answer, id, slot, pushID: pushID)
  }

  /// Does the work after the added round trip. Returns false if there is none.
  private func delay(_ work: @autoclosure () -> Delayed.Work) -> Bool {
    guard gateway.settings.addedNanoseconds > 0 else { return false }
    delayed.append(Delayed(work: work(), due: Clock.monotonicNanoseconds + gateway.settings.addedNanoseconds))
    scheduleDelayed()
    return true
  }

  private func submit(_ answer: Answer, _ id: Int32, _ slot: Int, pushID: ArraySlice<UInt8>) {
    pushID.withUnsafeBufferPointer { text in
      if answer.isAccepted, !answer.isOfChannels {
        gateway.newUniqueID().withUnsafeBufferPointer { session?.accept(id, pushID: text, uniqueID: $0) }
      } else {
        streams[slot].answerBody = answer.body[...]
        session?.answer(id, answer, pushID: text)
      }
    }
  }

  private func scheduleDelayed() {
    guard delayTimer == nil, let due = delayed.first?.due else { return }
    let now = Clock.monotonicNanoseconds
    delayTimer = .after(.nanoseconds(due > now ? Int64(due - now) : 0)) { [unowned self] in sendDelayed() }
  }

  private func sendDelayed() {
    delayTimer = nil
    while let due = delayed.first?.due, due <= Clock.monotonicNanoseconds, let item = delayed.popFirst() {
      switch item.work {
      case .answer(let answer, let stream, let pushID):
        if let slot = session?.slot(of: stream) { submit(answer, stream, slot, pushID: pushID[...]) }
      case .credit(let count): giveFree(count)
      }
    }
    scheduleDelayed()
    flush()
  }

  /// Runs a check that may use the connection's provider. The first valid provider token raises the limit of streams.
  private func checkingProvider<T>(_ check: (inout ConnectionProvider) -> T) -> T {
    let wasKnown = provider.isKnown
    let result = check(&provider)
    if !wasKnown, provider.isKnown { session?.setMaximumStreams(gateway.settings.maximumStreams) }
    return result
  }
}
