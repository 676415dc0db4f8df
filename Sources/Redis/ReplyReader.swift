import CHiredis

/// Cuts a stream of bytes into replies, with hiredis' reader.
///
/// A reply past one of the limits is read to its end and dropped; only bytes that are no reply end the stream.
final class ReplyReader {
  enum Next: Equatable {
    case value(RedisValue)
    /// A reply was dropped; the text says which limit it exceeds.
    case tooLarge(String)
    case needsMore
    /// The stream is of no use any more; the text says why.
    case broken(String)
  }

  /// Bytes of one reply that are kept, unless another number is given.
  static let maximumBytes = 64 * 1024 * 1024
  /// An empty buffer larger than this many bytes is given back.
  private static let keptBytes = 256 * 1024

  /// Elements of all arrays of one reply. hiredis takes the number on trust: two thousand million would cost seconds to
  /// give back, even if none ever came.
  static let maximumElements = 1 << 20

  /// Arrays within each other; hiredis gives up on more than eight.
  static let maximumDepth = 7

  /// What the reply that is being read has come to.
  private struct Usage {
    let reader: UnsafeMutablePointer<redisReader>
    /// Bytes that are kept.
    let maximumBytes: Int
    var bytes = 0
    var elements = 0
    /// The limit that it exceeds.
    var excess: String?
  }

  /// hiredis' own.
  private static let functions: redisReplyObjectFunctions? = {
    guard let reader = redisReaderCreate() else { return nil }
    defer { redisReaderFree(reader) }
    return reader.pointee.fn.pointee
  }()

  private var reader: UnsafeMutablePointer<redisReader>
  private let functions: UnsafeMutablePointer<redisReplyObjectFunctions>
  private let usage: UnsafeMutablePointer<Usage>
  /// While a reply is read past, and the limit that it exceeds.
  private var skipping: (skipper: ReplySkipper, excess: String)?
  /// Came before what the reader holds.
  private var outcome: Next?

  private let maximumBytes: Int

  /// Nil when memory ran out.
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

  /// Takes the first `count` bytes.
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
    // A failure is remembered by the reader and comes out of `next()`.
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
      // The reader is left when it has nothing more to read: within the bytes of one feed.
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
      usage.pointee.excess = "the reply has more than \(maximumDepth) arrays within each other"
    }
    guard usage.pointee.excess != nil else { return functions?.createArray(task, count) }
    // hiredis stops here for want of bytes: the elements are read past by ``ReplySkipper``.
    reader.pointee.len = reader.pointee.pos
    return functions?.createArray(task, 0)
  }

  /// Hands what is left of the reply over to a ``ReplySkipper``. What was built of it is given back.
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
      // The reader's own count may have been cut short.
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

  /// The first byte of a value whose type has been read already.
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
