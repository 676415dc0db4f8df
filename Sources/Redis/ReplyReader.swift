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

  /// Elements of all arrays of one reply. Memory for the announced number is allocated at once.
  static let maximumElements = 1 << 20

  /// Nested arrays. hiredis fails at more than eight.
  static let maximumDepth = 7

  /// The reply that is being read, as far as it has been read.
  private struct Draft {
    let reader: UnsafeMutablePointer<redisReader>
    let maximumBytes: Int
    var bytes = 0
    var elements = 0
    /// The limit that the reply exceeds.
    var excess: String?
    /// The arrays without all of their elements, outermost first.
    var arrays: [(elements: [RedisValue], count: Int)] = []
    /// The whole reply.
    var value: RedisValue?

    mutating func begin(count: Int) {
      arrays.append(([], count))
      arrays[arrays.count - 1].elements.reserveCapacity(count)
    }

    /// Takes a value, and each array that it completes.
    mutating func add(_ value: consuming RedisValue) {
      while let last = arrays.indices.last {
        arrays[last].elements.append(value)
        guard arrays[last].elements.count == arrays[last].count else { return }
        value = .array(arrays.removeLast().elements)
      }
      self.value = value
    }

    /// Returns the reply if it is whole, and begins the next one.
    mutating func take() -> RedisValue? {
      guard let value = value.take() else { return nil }
      (bytes, elements, excess) = (0, 0, nil)
      return value
    }
  }

  private var reader: UnsafeMutablePointer<redisReader>
  private let functions: UnsafeMutablePointer<redisReplyObjectFunctions>
  private let draft: UnsafeMutablePointer<Draft>
  /// Set while a reply is skipped, with the limit that it exceeds.
  private var skipping: (skipper: ReplySkipper, excess: String)?
  /// Returned by ``next()`` before anything in the reader.
  private var outcome: Next?

  private let maximumBytes: Int

  /// Returns nil if memory is exhausted.
  init?(maximumBytes: Int = ReplyReader.maximumBytes) {
    let functions = UnsafeMutablePointer<redisReplyObjectFunctions>.allocate(capacity: 1)
    functions.initialize(to: ReplyReader.functions)
    guard let reader = redisReaderCreateWithFunctions(functions) else {
      functions.deallocate()
      return nil
    }
    self.reader = reader
    self.functions = functions
    self.maximumBytes = maximumBytes
    draft = .allocate(capacity: 1)
    draft.initialize(to: Draft(reader: reader, maximumBytes: maximumBytes))
    prepare(reader)
  }

  deinit {
    redisReaderFree(reader)
    functions.deallocate()
    draft.deinitialize(count: 1)
    draft.deallocate()
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
    guard redisReaderGetReply(reader, nil) == REDIS_OK else { return .broken("protocol error: \(errorText)") }
    if let value = draft.pointee.take() { return .value(value) }
    if draft.pointee.excess == nil,
      reader.pointee.len - reader.pointee.pos + draft.pointee.bytes > maximumBytes
    {
      draft.pointee.excess = ReplyReader.tooManyBytes(maximumBytes)
    }
    guard let excess = draft.pointee.excess else { return .needsMore }
    skip(because: excess)
    return next()
  }

  private func prepare(_ reader: UnsafeMutablePointer<redisReader>) {
    draft.pointee = Draft(reader: reader, maximumBytes: maximumBytes)
    reader.pointee.maxbuf = ReplyReader.keptBytes
    reader.pointee.privdata = UnsafeMutableRawPointer(draft)
  }
}

extension ReplyReader {
  private static func tooManyBytes(_ maximum: Int) -> String { "the reply is larger than \(maximum) bytes" }

  /// Adds each value to the draft, and returns the draft in the place of an object. Nothing is left to be freed.
  private static let functions = redisReplyObjectFunctions(
    createString: { createString($0, $1, $2) },
    createArray: { createArray($0, $1) },
    createInteger: { create($0, .integer($1)) },
    createNil: { create($0, .null) },
    freeObject: nil)

  private static func draft(of task: UnsafePointer<redisReadTask>?) -> UnsafeMutablePointer<Draft>? {
    task?.pointee.privdata?.assumingMemoryBound(to: Draft.self)
  }

  private static func create(_ task: UnsafePointer<redisReadTask>?, _ value: RedisValue) -> UnsafeMutableRawPointer? {
    guard let draft = draft(of: task) else { return nil }
    draft.pointee.add(value)
    return UnsafeMutableRawPointer(draft)
  }

  private static func createString(
    _ task: UnsafePointer<redisReadTask>?, _ text: UnsafeMutablePointer<CChar>?, _ count: Int
  ) -> UnsafeMutableRawPointer? {
    guard let task, let draft = draft(of: task) else { return nil }
    draft.pointee.bytes += count
    // The limit is checked when the reader needs more input, so one feed may exceed it.
    if draft.pointee.bytes > draft.pointee.maximumBytes {
      draft.pointee.excess = tooManyBytes(draft.pointee.maximumBytes)
    }
    let text = UnsafeRawBufferPointer(start: text, count: count)
    return switch task.pointee.type {
    case REDIS_REPLY_STATUS: create(task, .status(String(decoding: text, as: UTF8.self)))
    case REDIS_REPLY_ERROR: create(task, .error(RedisReplyError(message: String(decoding: text, as: UTF8.self))))
    default: create(task, .bytes(Array(text)))
    }
  }

  private static func createArray(_ task: UnsafePointer<redisReadTask>?, _ count: Int32) -> UnsafeMutableRawPointer? {
    guard count > 0 else { return create(task, .array([])) }
    guard let draft = draft(of: task) else { return nil }
    let reader = draft.pointee.reader
    draft.pointee.elements += Int(count)
    if draft.pointee.elements > maximumElements {
      draft.pointee.excess = "the reply has more than \(maximumElements) elements"
    } else if Int(reader.pointee.ridx) >= maximumDepth {
      draft.pointee.excess = "the reply has more than \(maximumDepth) nested arrays"
    }
    if draft.pointee.excess != nil {
      // Hides the rest of the input from hiredis, so that it stops here; ``ReplySkipper`` skips the elements.
      reader.pointee.len = reader.pointee.pos
    } else {
      draft.pointee.begin(count: Int(count))
    }
    return UnsafeMutableRawPointer(draft)
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
    guard let fresh = redisReaderCreateWithFunctions(functions) else { preconditionFailure("out of memory") }
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
}
