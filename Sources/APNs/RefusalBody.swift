/// The two members of APNs' refusal: `{"reason":"Unregistered","timestamp":1700000000000}`.
///
/// Reads what is there and gives up silently on the rest: a proxy's HTML page is a refusal without a reason.
struct RefusalBody {
  /// Longer reasons are cut: they end up in records and metrics.
  static let maximumReasonCharacters = 100

  private(set) var reason: String?
  /// Unix milliseconds.
  private(set) var timestamp: Int64?

  init(_ bytes: [UInt8]) {
    if let value = RefusalBody.value(of: "reason", in: bytes), value.first == UInt8(ascii: "\"") {
      let text = value.dropFirst().prefix { $0 != UInt8(ascii: "\"") && (0x20..<0x7F).contains($0) }
      let kept = text.prefix(RefusalBody.maximumReasonCharacters)
      if !kept.isEmpty { reason = String(decoding: kept, as: UTF8.self) }
    }
    if let value = RefusalBody.value(of: "timestamp", in: bytes) {
      let isNegative = value.first == UInt8(ascii: "-")
      let digits = value.dropFirst(isNegative ? 1 : 0).prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      timestamp = Int64((isNegative ? "-" : "") + String(decoding: digits, as: UTF8.self))
    }
  }

  /// The bytes from the start of the member's value on.
  private static func value(of name: StaticString, in bytes: [UInt8]) -> ArraySlice<UInt8>? {
    let key = "\"\(name)\"".utf8
    guard bytes.count > key.count else { return nil }
    for start in 0..<(bytes.count - key.count) where bytes[start...].starts(with: key) {
      let rest = bytes[(start + key.count)...].drop(while: isSpace)
      guard rest.first == UInt8(ascii: ":") else { continue }
      return rest.dropFirst().drop(while: isSpace)
    }
    return nil
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || (0x09...0x0D).contains(byte)
  }
}
