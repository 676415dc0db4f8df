import CHiredis

/// Cuts a stream of bytes into replies, with hiredis' reader.
///
/// Nesting deeper than 7 arrays, garbage, or a reply that is too long end the stream.
final class ReplyReader {
  enum Next: Equatable {
    case value(RedisValue)
    case needsMore
    /// The stream is of no use any more; the text says why.
    case broken(String)
  }

  /// The longest unfinished reply that is kept, unless another length is given.
  static let maximumBytes = 64 * 1024 * 1024
  /// An empty buffer larger than this many bytes is given back.
  private static let keptBytes = 256 * 1024

  /// More elements in one array end the stream. hiredis takes the number on trust: two thousand million would cost
  /// seconds to give back, even if none ever came.
  static let maximumElements: Int32 = 1 << 20

  private typealias CreateArray = @convention(c) (UnsafePointer<redisReadTask>?, Int32) -> UnsafeMutableRawPointer?
  /// hiredis' own.
  private static let createArray: CreateArray? = {
    guard let reader = redisReaderCreate() else { return nil }
    defer { redisReaderFree(reader) }
    return reader.pointee.fn.pointee.createArray
  }()

  private let reader: UnsafeMutablePointer<redisReader>
  private let functions: UnsafeMutablePointer<redisReplyObjectFunctions>

  private let maximumBytes: Int

  /// Nil when memory ran out.
  init?(maximumBytes: Int = ReplyReader.maximumBytes) {
    guard let reader = redisReaderCreate() else { return nil }
    reader.pointee.maxbuf = ReplyReader.keptBytes
    self.reader = reader
    self.maximumBytes = maximumBytes
    functions = .allocate(capacity: 1)
    functions.initialize(to: reader.pointee.fn.pointee)
    functions.pointee.createArray = { task, count in
      guard count <= ReplyReader.maximumElements else { return nil }
      return ReplyReader.createArray?(task, count)
    }
    reader.pointee.fn = functions
  }

  deinit {
    redisReaderFree(reader)
    functions.deallocate()
  }

  /// Takes the first `count` bytes.
  func feed(_ bytes: [UInt8], count: Int) {
    precondition(count <= bytes.count)
    bytes.withUnsafeBytes { buffer in
      // A failure is remembered by the reader and comes out of `next()`.
      _ = redisReaderFeed(reader, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), count)
    }
  }

  func next() -> Next {
    var object: UnsafeMutableRawPointer?
    guard redisReaderGetReply(reader, &object) == REDIS_OK else { return .broken("protocol error: \(errorText)") }
    guard let object else {
      let held = reader.pointee.len - reader.pointee.pos
      return held <= maximumBytes ? .needsMore : .broken("a reply is larger than \(maximumBytes) bytes")
    }
    defer { freeReplyObject(object) }
    return .value(ReplyReader.value(object.assumingMemoryBound(to: redisReply.self).pointee))
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
