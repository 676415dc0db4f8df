extension PushStream {
  /// Longest `apns-unique-id` that is kept.
  private static let maximumUniqueIDBytes = 64

  /// Notes a response header, if it is one of the three that matter.
  mutating func take(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
    // The only pseudo-header field of a response; nghttp2 lets no other pass.
    if name.first == UInt8(ascii: ":") {
      let code = PushStream.number(value) ?? 0
      // 1xx announces; the answer is yet to come.
      if code >= 200 { status = code }
    } else if name.elementsEqual("retry-after".utf8) {
      retryAfterSeconds = PushStream.seconds(value)
    } else if name.elementsEqual("apns-unique-id".utf8), value.count <= PushStream.maximumUniqueIDBytes {
      uniqueID = String(decoding: value, as: UTF8.self)
    }
  }

  /// A gateway cannot put a push off for longer, in seconds.
  private static let maximumRetryAfter = 3600

  /// Digits, as many as there are; the other form, a date, is not read, nor is anything else: the own backoff holds then.
  private static func seconds(_ text: UnsafeBufferPointer<UInt8>) -> Int? {
    guard !text.isEmpty, text.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
    let digits = text.drop { $0 == UInt8(ascii: "0") }
    guard digits.count <= 9 else { return maximumRetryAfter }
    return min(maximumRetryAfter, number(UnsafeBufferPointer(rebasing: digits)) ?? 0)
  }

  /// Up to nine digits and nothing else.
  private static func number(_ text: UnsafeBufferPointer<UInt8>) -> Int? {
    guard (1...9).contains(text.count) else { return nil }
    var number = 0
    for byte in text {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
      number = number * 10 + Int(byte - UInt8(ascii: "0"))
    }
    return number
  }

  /// What the closed stream means. A status is an answer, however the stream ended.
  var outcome: PushAnswer {
    if status == 200, uniqueID == nil { return .answered(APNsAnswer(status: 200)) }
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
