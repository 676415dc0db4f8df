import JSON

/// Reads and writes `a=1&b=x%20y`: queries, and bodies of type `application/x-www-form-urlencoded`.
public enum FormEncoding {
  /// The number of items of one query or form.
  public static let maximumItems = 100

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
    items.isEmpty
      ? ""
      : "?" + items.map { "\(String(percentEncoding: $0.0))=\(String(percentEncoding: $0.1))" }.joined(separator: "&")
  }

  private static func item(_ pair: ArraySlice<UInt8>) -> (name: String, value: String)? {
    let equals = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
    guard let name = decoded(pair[..<equals]), let value = decoded(pair[equals...].dropFirst()) else { return nil }
    return (name, value)
  }

  private static func decoded(_ text: ArraySlice<UInt8>) -> String? {
    [UInt8](percentDecoding: text, plusIsSpace: true).flatMap { String(validating: $0, as: UTF8.self) }
  }
}
