import Crypto

extension Credential {
  /// Bytes of a secret that was made elsewhere. A shorter one that is stored already goes on working.
  private static let secretLength = 16...512

  /// A new secret that nobody can guess.
  public static func randomSecret() -> String { Secret.random() }

  /// The secret that these bytes are; nil when no client could send it in a header.
  public static func secret(_ bytes: [UInt8]) -> String? {
    guard secretLength.contains(bytes.count), let text = String(validating: bytes, as: UTF8.self) else { return nil }
    // White space around a header's value is lost on its way.
    guard bytes.first != 0x20, bytes.last != 0x20 else { return nil }
    return text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control } ? text : nil
  }

  /// What ``secret(_:)`` takes, for who gave it something else.
  public static let expectedSecret =
    "\(secretLength.lowerBound) to \(secretLength.upperBound) bytes without control characters or spaces around them"
}
