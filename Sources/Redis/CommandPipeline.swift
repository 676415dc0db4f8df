import EventLoop

/// A command without a reply yet.
struct PendingReply {
  /// Position of the command's first byte among all bytes of the connection.
  let position: UInt64
  /// On ``Clock/monotonicNanoseconds``.
  let deadline: UInt64
  let completion: CommandPipeline.Completion
}

/// The commands and replies of one open connection. Writes once per turn of the loop; replies arrive in order.
///
/// Every command is completed exactly once, also if the connection ends.
@EventLoop
final class CommandPipeline {
  typealias Completion = @EventLoop (Result<RedisValue, RedisError>) -> Void

  /// With more unwritten bytes than this, commands are refused.
  static let maximumOutputBytes = 64 * 1024 * 1024
  /// An empty output buffer larger than this is freed.
  private static let keptOutputBytes = 1024 * 1024
  /// Small, because hiredis moves its remaining input after each KiB of replies.
  private static let readBytes = 16 * 1024
  /// Gives other sockets a turn.
  private static let maximumReadsPerTurn = 64

  private static var readBuffer = [UInt8](repeating: 0, count: readBytes)

  /// Called once when the connection is lost, after the pending commands have failed. Not called after ``end(_:)``.
  var onLost: (@EventLoop (String) -> Void)?
  /// Called for each error reply, after the completion of its command.
  var onErrorReply: (@EventLoop (RedisReplyError) -> Void)?

  private(set) var isOpen = true
  private let transport: Transport
  private let reader: ReplyReader
  private var source: SocketSource?
  private var pending = FrontQueue<PendingReply>()
  private var deadlineTimer: LoopTimer?
  private var timerDeadline = UInt64.max

  private var output: [UInt8] = []
  private var outputHead = 0
  private var isFlushScheduled = false
  /// Number of bytes ever appended to `output`.
  private var queuedBytes: UInt64 = 0
  /// Number of those bytes that may have been sent.
  private var attemptedBytes: UInt64 = 0

  /// Returns nil if descriptors or memory are exhausted.
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

  /// Sends `command` after the `silent` commands, which Redis must not reply to, in the same write.
  ///
  /// `deadline` is on ``Clock/monotonicNanoseconds``; if a command misses it the connection is closed.
  func send(
    _ command: RedisCommand, behind silent: [RedisCommand] = [], deadline: UInt64, _ completion: @escaping Completion
  ) {
    guard isOpen else { return refuse("the connection to redis is closed", completion) }
    let size = output.count
    guard size - outputHead < CommandPipeline.maximumOutputBytes else {
      return refuse("over \(CommandPipeline.maximumOutputBytes) bytes are waiting to be written to redis", completion)
    }
    for command in silent { command.write(to: &output) }
    command.write(to: &output)
    pending.append(PendingReply(position: queuedBytes, deadline: deadline, completion: completion))
    queuedBytes += UInt64(output.count - size)
    watchDeadline()
    guard !isFlushScheduled else { return }
    isFlushScheduled = true
    EventLoop.atEndOfTurn { [weak self] in self?.flush() }
  }

  /// Closes the connection; pending commands fail.
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
    // TLS may have needed to write before it could read.
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
        // Part of a TLS record may have been sent, although none of its bytes were reported as written.
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
    // Bytes that TLS has buffered do not make the socket readable.
    if transport.buffersBytes { EventLoop.run { [weak self] in self?.readReplies() } }
  }

  private func deliverReplies() {
    while isOpen {
      switch reader.next() {
      case .needsMore: return watchDeadline()
      case .broken(let reason): return lose(reason)
      case .tooLarge(let reason):
        guard let element = pending.popFirst() else { return lose("protocol error: a reply without a command") }
        element.completion(.failure(.replyTooLarge(reason)))
      case .value(.error(let error)):
        guard let element = pending.popFirst() else { return lose(error.message) }
        element.completion(.failure(.reply(error)))
        onErrorReply?(error)
      case .value(let value):
        guard let element = pending.popFirst() else { return lose("protocol error: a reply without a command") }
        element.completion(.success(value))
      }
    }
  }
}

extension CommandPipeline {
  /// Starts a timer for the oldest command. It keeps running if that is completed in time, which is cheaper than one
  /// timer per command.
  private func watchDeadline() {
    guard isOpen, let deadline = pending.first?.deadline, deadline < timerDeadline else { return }
    timerDeadline = deadline
    let now = Clock.monotonicNanoseconds
    let delay = deadline > now ? Int64(clamping: deadline - now) : 0
    deadlineTimer = LoopTimer.after(.nanoseconds(delay)) { [weak self] in self?.deadlineCame() }
  }

  private func deadlineCame() {
    timerDeadline = .max
    deadlineTimer = nil
    // The reply may have arrived while the process was stopped or the loop was busy.
    readReplies()
    guard isOpen, let oldest = pending.first else { return }
    guard oldest.deadline <= Clock.monotonicNanoseconds else { return watchDeadline() }
    lose("redis did not answer in time")
  }
}
