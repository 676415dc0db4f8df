import CHiredis

/// Decodes a stream of bytes into replies, with hiredis' reader.
///
/// A reply that exceeds a limit is read to its end and dropped; only malformed bytes end the stream.
final class ReplyReader {
  enum Next: Equatable {
    case value(RedisValue)
    /// A reply was dropped. The text names the limit that it exceeds.
    case tooLarge(String)
    case needsMore
    /// The stream is malformed. The text is the reason.
    case broken(String)
  }

  /// Default limit for the bytes of one reply.
  static let maximumBytes = 64 * 1024 * 1024
  /// An empty buffer larger than this is freed.
  private static let keptBytes = 256 * 1024

  /// Elements of all arrays of one reply. hiredis allocates memory for the announced number at once: freeing two
  /// thousand million elements would take seconds.
  static let maximumElements = 1 << 20

  /// Nested arrays. hiredis fails at more than eight.
  static let maximumDepth = 7

  /// The size so far of the reply that is being read.
  private struct Usage {
    let reader: UnsafeMutablePointer<redisReader>
    let maximumBytes: Int
    var bytes = 0
    var elements = 0
    /// The limit that the reply exceeds.
    var excess: String?
  }

  /// hiredis' default functions.
  private static let functions: redisReplyObjectFunctions? = {
    guard let reader = redisReaderCreate() else { return nil }
    defer { redisReaderFree(reader) }
    return reader.pointee.fn.pointee
  }()

  private var reader: UnsafeMutablePointer<redisReader>
  private let functions: UnsafeMutablePointer<redisReplyObjectFunctions>
  private let usage: UnsafeMutablePointer<Usage>
  /// Set while a reply is skipped, with the limit that it exceeds.
  private var skipping: (skipper: ReplySkipper, excess: String)?
  /// Returned by ``next()`` before anything in the reader.
  private var outcome: Next?

  private let maximumBytes: Int

  /// Returns nil if memory is exhausted.
  init?(maximumBytes: Int = ReplyReader.maximumBytes) {
    guard let reader = redisReaderCreate(), let own = ReplyReader.functions else { return nil }
    self.reader = reader
    self.maximumBytes = maximumBytes
    functions = .allocate(capacity: 1)
    functions.initialize(to: own)
    usage = .allocate(capacity: 1)
    usage.initialize(to: Usage(reader: reader, maximumBytes: maximumBytes))
    functions.pointee.createArray = { ReplyReader.createArray($0, $1) }
    functions.pointee.createString = { ReplyReader.createString($0, $1, $2) }
    prepare(reader)
  }

  deinit {
    redisReaderFree(reader)
    functions.deallocate()
    usage.deinitialize(count: 1)
    usage.deallocate()
  }

  /// Appends the first `count` bytes of `bytes` to the input.
  func feed(_ bytes: [UInt8], count: Int) {
    precondition(count <= bytes.count)
    bytes.withUnsafeBufferPointer { feed(UnsafeBufferPointer(rebasing: $0[..<count])) }
  }

  private func feed(_ bytes: UnsafeBufferPointer<UInt8>) {
    var start = 0
    if let excess = skipping?.excess {
      do throws(ReplySkipper.Malformed) {
        start = try skipping?.skipper.skip(bytes) ?? 0
      } catch {
        outcome = .broken("protocol error within a reply that is too large")
        return
      }
      guard skipping?.skipper.isDone == true else { return }
      skipping = nil
      outcome = .tooLarge(excess)
    }
    let rest = UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[start...]))
    // The reader stores an error, which `next()` returns.
    _ = redisReaderFeed(reader, rest.baseAddress?.assumingMemoryBound(to: CChar.self), rest.count)
  }

  func next() -> Next {
    if let outcome {
      if case .tooLarge = outcome { self.outcome = nil }
      return outcome
    }
    guard skipping == nil else { return .needsMore }
    var object: UnsafeMutableRawPointer?
    guard redisReaderGetReply(reader, &object) == REDIS_OK else { return .broken("protocol error: \(errorText)") }
    if let object {
      defer { freeReplyObject(object) }
      usage.pointee = Usage(reader: reader, maximumBytes: maximumBytes)
      return .value(ReplyReader.value(object.assumingMemoryBound(to: redisReply.self).pointee))
    }
    if usage.pointee.excess == nil,
      reader.pointee.len - reader.pointee.pos + usage.pointee.bytes > maximumBytes
    {
      usage.pointee.excess = ReplyReader.tooManyBytes(maximumBytes)
    }
    guard let excess = usage.pointee.excess else { return .needsMore }
    skip(because: excess)
    return next()
  }

  private func prepare(_ reader: UnsafeMutablePointer<redisReader>) {
    usage.pointee = Usage(reader: reader, maximumBytes: maximumBytes)
    reader.pointee.maxbuf = ReplyReader.keptBytes
    reader.pointee.fn = functions
    reader.pointee.privdata = UnsafeMutableRawPointer(usage)
  }
}

extension ReplyReader {
  private static func tooManyBytes(_ maximum: Int) -> String { "the reply is larger than \(maximum) bytes" }

  private static func createString(
    _ task: UnsafePointer<redisReadTask>?, _ text: UnsafeMutablePointer<CChar>?, _ count: Int
  ) -> UnsafeMutableRawPointer? {
    if let usage = task?.pointee.privdata?.assumingMemoryBound(to: Usage.self) {
      usage.pointee.bytes += count
      // The limit is checked when the reader needs more input, so one feed may exceed it.
      if usage.pointee.bytes > usage.pointee.maximumBytes {
        usage.pointee.excess = tooManyBytes(usage.pointee.maximumBytes)
      }
    }
    return functions?.createString(task, text, count)
  }

  private static func createArray(_ task: UnsafePointer<redisReadTask>?, _ count: Int32) -> UnsafeMutableRawPointer? {
    guard let usage = task?.pointee.privdata?.assumingMemoryBound(to: Usage.self) else { return nil }
    let reader = usage.pointee.reader
    usage.pointee.elements += Int(count)
    if usage.pointee.elements > maximumElements {
      usage.pointee.excess = "the reply has more than \(maximumElements) elements"
    } else if Int(reader.pointee.ridx) >= maximumDepth, count > 0 {
      usage.pointee.excess = "the reply has more than \(maximumDepth) nested arrays"
    }
    guard usage.pointee.excess != nil else { return functions?.createArray(task, count) }
    // Hides the rest of the input from hiredis, so that it stops here; ``ReplySkipper`` skips the elements.
    reader.pointee.len = reader.pointee.pos
    return functions?.createArray(task, 0)
  }

  /// Frees the part of the reply that was built and passes the rest to a ``ReplySkipper``.
  private func skip(because excess: String) {
    let last = Int(reader.pointee.ridx)
    var open = 1
    var rest: [UInt8] = []
    withUnsafeBytes(of: &reader.pointee.rstack) { raw in
      let tasks = raw.bindMemory(to: redisReadTask.self)
      for level in 0..<max(0, last) { open += Int(tasks[level].elements) - Int(tasks[level + 1].idx) - 1 }
      if last >= 0, let mark = ReplyReader.mark(of: tasks[last].type) { rest.append(mark) }
    }
    if let buffer = reader.pointee.buf {
      // The reader's own count may have been reduced by `createArray`.
      let bytes = UnsafeRawBufferPointer(start: buffer, count: sdslen(buffer))
      rest.append(contentsOf: bytes[reader.pointee.pos...])
    }
    redisReaderFree(reader)
    guard let fresh = redisReaderCreate() else { preconditionFailure("out of memory") }
    reader = fresh
    prepare(fresh)
    skipping = (ReplySkipper(open: open), excess)
    rest.withUnsafeBufferPointer { feed($0) }
  }

  /// Returns the first byte of a value whose type has been read already.
  private static func mark(of type: Int32) -> UInt8? {
    switch type {
    case REDIS_REPLY_STRING: UInt8(ascii: "$")
    case REDIS_REPLY_ARRAY: UInt8(ascii: "*")
    case REDIS_REPLY_INTEGER: UInt8(ascii: ":")
    case REDIS_REPLY_STATUS: UInt8(ascii: "+")
    case REDIS_REPLY_ERROR: UInt8(ascii: "-")
    default: nil
    }
  }

  private var errorText: String {
    withUnsafeBytes(of: reader.pointee.errstr) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }

  private static func value(_ reply: redisReply) -> RedisValue {
    switch reply.type {
    case REDIS_REPLY_INTEGER: .integer(reply.integer)
    case REDIS_REPLY_STRING: .bytes(Array(text(reply)))
    case REDIS_REPLY_STATUS: .status(String(decoding: text(reply), as: UTF8.self))
    case REDIS_REPLY_ERROR: .error(RedisReplyError(message: String(decoding: text(reply), as: UTF8.self)))
    case REDIS_REPLY_ARRAY:
      .array(
        UnsafeBufferPointer(start: reply.element, count: reply.elements).map { element in
          element.map { value($0.pointee) } ?? .null
        })
    default: .null
    }
  }

  private static func text(_ reply: redisReply) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: reply.str, count: reply.len)
  }
}
