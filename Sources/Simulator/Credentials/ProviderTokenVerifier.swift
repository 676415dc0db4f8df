import JSON

/// Checks `authorization` values: ES256 over header {alg, kid} and claims {iss, iat}.
struct ProviderTokenVerifier {
  /// Seconds after `iat`.
  static let lifetime: Int64 = 3600
  /// Seconds that `iat` may lie ahead: clocks differ.
  static let tolerance: Int64 = 300
  static let cacheLimit = 1000
  static let maximumBytes = 4096

  let keyID: String
  let teamID: String
  let key: PublicKey
  /// Values whose signature was right, with their `iat`.
  private var known: [[UInt8]: Int64] = [:]
  private(set) var verifications = 0

  init(keyID: String, teamID: String, key: PublicKey) {
    self.keyID = keyID
    self.teamID = teamID
    self.key = key
  }

  /// The decision on `authorization` at `now`, unix seconds, and when the token was issued.
  mutating func verify(
    _ authorization: ArraySlice<UInt8>?, now: Int64
  ) -> (decision: ProviderTokenCheck, issuedAt: Int64) {
    guard let authorization, authorization.count > 7,
      authorization.prefix(7).elementsEqual("bearer ".utf8) || authorization.prefix(7).elementsEqual("Bearer ".utf8)
    else { return (.missing, 0) }
    let value = Array(authorization)
    if let issuedAt = known[value] { return (ProviderTokenVerifier.decision(issuedAt: issuedAt, now: now), issuedAt) }
    guard value.count <= ProviderTokenVerifier.maximumBytes, let issuedAt = issueTime(of: value.dropFirst(7)) else {
      return (.invalid, 0)
    }
    if known.count >= ProviderTokenVerifier.cacheLimit { known = [:] }
    known[value] = issuedAt
    return (ProviderTokenVerifier.decision(issuedAt: issuedAt, now: now), issuedAt)
  }

  static func decision(issuedAt: Int64, now: Int64) -> ProviderTokenCheck {
    if now - issuedAt > lifetime { return .expired }
    return issuedAt - now > tolerance ? .invalid : .valid
  }

  /// `iat` of a token that is ours; nil for every other.
  private mutating func issueTime(of token: ArraySlice<UInt8>) -> Int64? {
    let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let header = base64URL(parts[0]), let claims = base64URL(parts[1]),
      let signature = base64URL(parts[2]),
      let header = try? JSONValue(parsing: header), let claims = try? JSONValue(parsing: claims),
      header["alg"]?.string == "ES256", header["kid"]?.string == keyID, claims["iss"]?.string == teamID,
      let issuedAt = claims["iat"]?.integer
    else { return nil }
    verifications += 1
    let signed = token.prefix(parts[0].count + 1 + parts[1].count)
    // Limits keep the age from overflowing.
    return key.verifies(signature, of: signed) && (0...1 << 40).contains(issuedAt) ? issuedAt : nil
  }
}

/// Without padding; nil when a character does not belong.
private func base64URL(_ text: ArraySlice<UInt8>) -> [UInt8]? {
  var bytes: [UInt8] = []
  var buffer: UInt32 = 0
  var bits = 0
  for character in text {
    let digit: UInt8
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit = character - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): digit = character - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = character - UInt8(ascii: "0") + 52
    case UInt8(ascii: "-"): digit = 62
    case UInt8(ascii: "_"): digit = 63
    default: return nil
    }
    buffer = buffer << 6 | UInt32(digit)
    bits += 6
    if bits >= 8 {
      bits -= 8
      bytes.append(UInt8(truncatingIfNeeded: buffer >> bits))
    }
  }
  return text.count % 4 == 1 ? nil : bytes
}
