import JSON

/// Reads and writes `a=1&b=x%20y`: queries, and bodies of type `application/x-www-form-urlencoded`.
public enum FormEncoding {
  /// The number of items of one query or form.
  public static let maximumItems = 100
  private static let plain = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:".utf8)

  /// Returns the items in their order, with repeated names. A `+` is a space. Returns nil if a percent escape is malformed or
  /// not UTF-8, or if there are more than ``maximumItems``.
  public static func items(of text: some StringProtocol) -> [(name: String, value: String)]? {
    let bytes = Array(text.utf8)
    var items: [(name: String, value: String)] = []
    var start = 0
    while start < bytes.count {
      let end = bytes[start...].firstIndex(of: UInt8(ascii: "&")) ?? bytes.count
      defer { start = end + 1 }
      guard end > start else { continue }
      guard items.count < maximumItems, let item = item(bytes[start..<end]) else { return nil }
      items.append(item)
    }
    return items
  }

  /// Returns `?a=1&b=2`; nothing without items.
  package static func query(_ items: [(String, String)]) -> String {
    items.isEmpty ? "" : "?" + items.map { "\(encoded($0.0))=\(encoded($0.1))" }.joined(separator: "&")
  }

  /// Escapes everything but letters, digits, `-`, `.`, `_`, `~` and `:`.
  package static func encoded(_ text: String) -> String {
    text.utf8.map { byte in
      let hex = String(byte, radix: 16, uppercase: true)
      return plain.contains(byte) ? String(UnicodeScalar(byte)) : byte < 16 ? "%0\(hex)" : "%\(hex)"
    }.joined()
  }

  /// Decodes percent escapes once. Returns nil if one is malformed, or the result is not UTF-8.
  public static func decoded(_ text: some StringProtocol) -> String? {
    decoded(Array(text.utf8)[...], plusIsSpace: false)
  }

  private static func item(_ pair: ArraySlice<UInt8>) -> (name: String, value: String)? {
    let equals = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
    guard let name = decoded(pair[..<equals], plusIsSpace: true),
      let value = decoded(pair[equals...].dropFirst(), plusIsSpace: true)
    else { return nil }
    return (name, value)
  }

  private static func decoded(_ text: ArraySlice<UInt8>, plusIsSpace: Bool) -> String? {
    [UInt8](percentDecoding: text, plusIsSpace: plusIsSpace).flatMap { String(validating: $0, as: UTF8.self) }
  }
}
