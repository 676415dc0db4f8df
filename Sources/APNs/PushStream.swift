/// The state of one attempt: how much of the request was written, and the response so far.
struct PushStream {
  /// How a stream was closed.
  enum End {
    case open, finished, refused
    /// RST_STREAM with this HTTP/2 error code.
    case reset(UInt32)
  }

  /// 0 before the attempt.
  var id: Int32 = 0
  /// Bytes of the payload that nghttp2 has read.
  var payloadOffset = 0
  /// Whether nghttp2 has read the whole payload. Before that APNs cannot have delivered the push.
  var isWritten = false

  /// HTTP status of the final response; 0 until its header has arrived.
  var status = 0
  var body: [UInt8] = []
  var uniqueID: String?
  var retryAfterSeconds: Int?
  var end = End.open

  /// The outcome of a closed stream. A status is an answer, however the stream was closed.
  var outcome: SendOutcome {
    if status == 200, uniqueID == nil { return .answered(.accepted) }
    if status != 0 {
      return .answered(
        APNsAnswer(status: status, body: body, apnsUniqueID: uniqueID, retryAfterSeconds: retryAfterSeconds))
    }
    switch end {
    case .refused: return .notProcessed("RefusedStream")
    case .reset(let code): return isWritten ? .uncertain("StreamReset_\(code)") : .notProcessed("StreamReset_\(code)")
    case .open, .finished: return isWritten ? .uncertain("NoAnswer") : .notProcessed("NotWritten")
    }
  }
}

// Response headers.
extension PushStream {
  /// Values of `apns-unique-id` that are longer, or not visible ASCII, are ignored.
  private static let maximumUniqueIDBytes = 64
  /// Seconds; a longer `Retry-After` is shortened to this.
  private static let maximumRetryAfter = 3600

  /// Stores a response header if it is `:status`, `retry-after` or `apns-unique-id`. nghttp2 has not checked it.
  mutating func receive(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
    if PushStream.equals(name, ":status") {
      // A 1xx response precedes the final one, which trailers cannot change.
      if status == 0, value.count == 3, let code = PushStream.number(value), code >= 200 { status = code }
    } else if PushStream.equals(name, "retry-after") {
      retryAfterSeconds = PushStream.seconds(value)
    } else if PushStream.equals(name, "apns-unique-id"), value.count <= PushStream.maximumUniqueIDBytes,
      value.allSatisfy({ (0x21...0x7E).contains($0) })
    {
      uniqueID = String(decoding: value, as: UTF8.self)
    }
  }

  private static func equals(_ name: UnsafeBufferPointer<UInt8>, _ text: StaticString) -> Bool {
    text.withUTF8Buffer { $0.count == name.count && $0.elementsEqual(name) }
  }

  /// Reads any number of digits. Returns nil for anything else, including a date.
  private static func seconds(_ text: UnsafeBufferPointer<UInt8>) -> Int? {
    guard !text.isEmpty, text.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
    let digits = text.drop { $0 == UInt8(ascii: "0") }
    guard digits.count <= 9 else { return maximumRetryAfter }
    return min(maximumRetryAfter, number(UnsafeBufferPointer(rebasing: digits)) ?? 0)
  }

  /// Reads one to nine digits. Returns nil for anything else.
  private static func number(_ text: UnsafeBufferPointer<UInt8>) -> Int? {
    guard (1...9).contains(text.count) else { return nil }
    var number = 0
    for byte in text {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
      number = number * 10 + Int(byte - UInt8(ascii: "0"))
    }
    return number
  }
}
