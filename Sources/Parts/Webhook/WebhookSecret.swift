import Crypto

/// The key of the signatures; during a rotation several keys, each of which signs.
///
/// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md

struct WebhookSecret: Sendable, Equatable {
  /// Bytes of a key.
  private static let lengths = 16...1024
  private static let maximumKeys = 4
  private static let prefix = "whsec_"

  /// For faults.
  static let expected =
    "whsec_ and base64 of 24 bytes (openssl rand -base64 24), or at least \(lengths.lowerBound) other characters; "
    + "several, each of which signs, are separated by spaces"

  private let keys: [[UInt8]]

  /// Returns nil if the text does not contain a secret that is long enough.
  init?(_ text: String) {
    let words = text.split(separator: " ")
    let keys = words.compactMap { WebhookSecret.key($0) }
    guard (1...WebhookSecret.maximumKeys).contains(words.count), keys.count == words.count else { return nil }
    self.keys = keys
  }

  private static func key(_ word: Substring) -> [UInt8]? {
    let key = word.hasPrefix(prefix) ? Base64.decode(Array(word.dropFirst(prefix.count).utf8)) : Array(word.utf8)
    return key.flatMap { lengths.contains($0.count) ? $0 : nil }
  }

  /// The value of `webhook-signature`. `timestamp` is unix seconds.
  func signature(id: String, timestamp: Int64, body: [UInt8]) -> String {
    let message = Array("\(id).\(timestamp).".utf8) + body
    return keys.map { "v1," + Base64.encode(HMACSHA256.code(message, key: $0)) }.joined(separator: " ")
  }
}
