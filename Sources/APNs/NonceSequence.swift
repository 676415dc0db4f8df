import COpenSSL

/// The candidates for the nonce of a deterministic ECDSA signature with P-256 and SHA-256 (RFC 6979, section 3.2).
///
/// A nonce reveals the private key as the key itself does, so the state is erased by ``erase()``.
struct NonceSequence {
  static let byteCount = 32

  private var key = [UInt8](repeating: 0, count: NonceSequence.byteCount)
  private var value = [UInt8](repeating: 1, count: NonceSequence.byteCount)

  /// `scalar` is the private key and `digest` the digest of the message modulo the group's order, 32 bytes each.
  init(scalar: [UInt8], digest: [UInt8]) {
    precondition(scalar.count == NonceSequence.byteCount && digest.count == NonceSequence.byteCount, "32 bytes each")
    update(0, scalar, digest)
    update(1, scalar, digest)
  }

  /// Returns the next candidate, 32 bytes. It may be zero, or not below the order of the group.
  mutating func next() -> [UInt8] {
    value = authenticationCode(of: value)
    let candidate = value
    update(0)
    return candidate
  }

  mutating func erase() {
    NonceSequence.erase(&key)
    NonceSequence.erase(&value)
  }

  static func erase(_ bytes: inout [UInt8]) {
    bytes.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
  }

  private mutating func update(_ step: UInt8, _ parts: [UInt8]...) {
    // Room for all, so that no copy of the key is left behind.
    var message: [UInt8] = []
    message.reserveCapacity(3 * NonceSequence.byteCount + 1)
    message += value
    message.append(step)
    for part in parts { message += part }
    key = authenticationCode(of: message)
    value = authenticationCode(of: value)
    NonceSequence.erase(&message)
  }

  /// HMAC-SHA-256 with the current key.
  private func authenticationCode(of message: [UInt8]) -> [UInt8] {
    var code = [UInt8](repeating: 0, count: NonceSequence.byteCount)
    var count: UInt32 = 0
    let isComputed =
      HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, &code, &count) != nil
      && Int(count) == NonceSequence.byteCount
    precondition(isComputed, "OpenSSL cannot compute an HMAC")
    return code
  }
}
