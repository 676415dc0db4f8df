import EventLoop

/// One connection from its opening to its end: commands out in one write per turn, replies back in their order.
///
/// It ends once, for whatever reason; every command it took is answered exactly once.
@EventLoop
final class CommandPipeline {
  typealias Completion = @EventLoop (Result<RedisValue, RedisError>) -> Void

  /// Commands past this many unwritten bytes are refused.
  static let maximumOutputBytes = 64 * 1024 * 1024
  /// An empty output buffer larger than this many bytes is given back.
  private static let keptOutputBytes = 1024 * 1024
  /// Small, because hiredis moves the rest of what it was fed after each KiB of replies.
  private static let readBytes = 16 * 1024
  /// Then other sockets have their turn.
  private static let maximumReadsPerTurn = 64

  private static var readBuffer = [UInt8](repeating: 0, count: readBytes)

  /// Called once, after the pending commands were failed; not after ``end(_:)``.
  var onLost: (@EventLoop (String) -> Void)?
  /// Called after the completion of a command that redis answered with an error.
  var onErrorReply: (@EventLoop (RedisReplyError) -> Void)?

  private(set) var isOpen = true
  private let transport: Transport
  private let reader: ReplyReader
  private var source: SocketSource?
  private var pending = PendingReplies()
  private var deadlineTimer: LoopTimer?
  private var timerDeadline = UInt64.max

  private var output: [UInt8] = []
  private var outputHead = 0
  private var isFlushScheduled = false
  /// All bytes that ever entered `output`, and up to where some may have left.
  private var queuedBytes: UInt64 = 0
  private var attemptedBytes: UInt64 = 0

  /// Nil when descriptors or memory ran out.
  init?(_ transport: Transport, maximumReplyBytes: Int = ReplyReader.maximumBytes) {
    guard let reader = ReplyReader(maximumBytes: maximumReplyBytes) else { return nil }
    self.transport = transport
    self.reader = reader
    source = SocketSource(
      descriptor: transport.descriptor,
      onReadable: { [weak self] in self?.readReplies() },
      onWritable: { [weak self] in self?.socketIsWritable() })
    guard let source else { return nil }
    source.watchReading(true)
  }

  isolated deinit {
    source?.cancel()
  }

  /// `deadline` is on ``Clock/monotonicNanoseconds``; a command that misses it takes the connection with it.
  /// `silent` commands go before it in the same write; redis must not answer them.
  func send(
    _ command: RedisCommand, behind silent: [RedisCommand] = [], deadline: UInt64, _ completion: @escaping Completion
  ) {
    guard isOpen else { return refuse("the connection to redis is closed", completion) }
    let size = output.count
    guard size - outputHead < CommandPipeline.maximumOutputBytes else {
      return refuse("\(CommandPipeline.maximumOutputBytes) bytes wait to be written to redis", completion)
    }
    for command in silent + [command] where !RequestFormatter.append(command, to: &output) {
      output.removeLast(output.count - size)
      return refuse("out of memory", completion)
    }
    pending.append(PendingReplies.Element(position: queuedBytes, deadline: deadline, completion: completion))
    queuedBytes += UInt64(output.count - size)
    watchDeadline()
    guard !isFlushScheduled else { return }
    isFlushScheduled = true
    EventLoop.atEndOfTurn { [weak self] in self?.flush() }
  }

  /// Ends it on our side; what is pending fails.
  func end(_ reason: String) {
    guard isOpen else { return }
    close(reason)
  }

  private func refuse(_ reason: String, _ completion: @escaping Completion) {
    EventLoop.atEndOfTurn { completion(.failure(.notSent(reason))) }
  }

  private func lose(_ reason: String) {
    guard isOpen else { return }
    close(reason)
    onLost?(reason)
  }

  private func close(_ reason: String) {
    isOpen = false
    source?.cancel()
    source = nil
    deadlineTimer = nil
    output = []
    for element in pending.removeAll() {
      element.completion(
        .failure(element.position < attemptedBytes ? .outcomeUnknown(reason) : .notSent(reason)))
    }
  }
}

extension CommandPipeline {
  private func socketIsWritable() {
    flush()
    // TLS may have waited for room to go on reading.
    if transport.buffersBytes { readReplies() }
  }

  private func flush() {
    isFlushScheduled = false
    while isOpen, outputHead < output.count {
      switch transport.write(output, from: outputHead) {
      case .bytes(let count):
        outputHead += count
        attemptedBytes = max(attemptedBytes, queuedBytes - UInt64(output.count - outputHead))
      case .wouldBlock:
        // A TLS record may be half out, although none of its bytes were reported as written.
        if transport.buffersBytes { attemptedBytes = queuedBytes }
        source?.watchWriting(true)
        return compactOutput()
      case .ended(let reason):
        return lose(reason)
      }
    }
    guard isOpen else { return }
    source?.watchWriting(false)
    output.removeAll(keepingCapacity: output.capacity <= CommandPipeline.keptOutputBytes)
    outputHead = 0
  }

  private func compactOutput() {
    guard outputHead * 2 >= output.count else { return }
    output.removeFirst(outputHead)
    outputHead = 0
  }

  private func readReplies() {
    for _ in 0..<CommandPipeline.maximumReadsPerTurn {
      guard isOpen else { return }
      switch transport.read(into: &CommandPipeline.readBuffer) {
      case .bytes(let count):
        reader.feed(CommandPipeline.readBuffer, count: count)
        deliverReplies()
        if count < CommandPipeline.readBytes, !transport.buffersBytes { return }
      case .wouldBlock:
        return
      case .ended(let reason):
        return lose(reason)
      }
    }
    // What TLS has already taken in does not make the socket readable.
    if transport.buffersBytes { EventLoop.run { [weak self] in self?.readReplies() } }
  }

  private func deliverReplies() {
    while isOpen {
      switch reader.next() {
      case .needsMore: return watchDeadline()
      case .broken(let reason): return lose(reason)
      case .tooLarge(let reason):
        guard let element = pending.popFirst() else { return lose("protocol error: a reply that nobody asked for") }
        element.completion(.failure(.replyTooLarge(reason)))
      case .value(.error(let error)):
        guard let element = pending.popFirst() else { return lose(error.message) }
        element.completion(.failure(.reply(error)))
        onErrorReply?(error)
      case .value(let value):
        guard let element = pending.popFirst() else { return lose("protocol error: a reply that nobody asked for") }
        element.completion(.success(value))
      }
    }
  }
}

extension CommandPipeline {
  /// Keeps one timer for the oldest command. It is left to fire when that is answered in time, which is cheaper than a
  /// timer for each.
  private func watchDeadline() {
    guard isOpen, let deadline = pending.oldest?.deadline, deadline < timerDeadline else { return }
    timerDeadline = deadline
    let now = Clock.monotonicNanoseconds
    let delay = deadline > now ? Int64(clamping: deadline - now) : 0
    deadlineTimer = LoopTimer.after(.nanoseconds(delay)) { [weak self] in self?.deadlineCame() }
  }

  private func deadlineCame() {
    timerDeadline = .max
    deadlineTimer = nil
    // The reply may be here already: the process was stopped, or the loop was busy.
    readReplies()
    guard isOpen, let oldest = pending.oldest else { return }
    guard oldest.deadline <= Clock.monotonicNanoseconds else { return watchDeadline() }
    lose("redis did not answer in time")
  }
}
