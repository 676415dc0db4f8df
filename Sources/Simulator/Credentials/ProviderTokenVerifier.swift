import JSON

#if canImport(Glibc)
  import Glibc
#endif

/// Verifies `authorization` values: ES256 over the header {alg, kid} and the claims {iss, iat}.
struct ProviderTokenVerifier {
  /// Seconds after `iat`.
  static let lifetime: Int64 = 3600
  /// Seconds that `iat` may be in the future, because clocks differ.
  static let tolerance: Int64 = 300
  static let cacheLimit = 1000
  static let maximumBytes = 4096

  let keyID: String
  let teamID: String
  let key: PublicKey
  /// Values with a valid signature, and their `iat`.
  private var known: [[UInt8]: Int64] = [:]
  private(set) var verifications = 0
  private var updates = ProviderTokenUpdates()
  /// The number of times that ``forgetUpdates()`` was called.
  private(set) var period = 0

  init(keyID: String, teamID: String, key: PublicKey) {
    self.keyID = keyID
    self.teamID = teamID
    self.key = key
  }

  /// Verifies `authorization` at `now` in unix seconds. Also returns when the token was issued.
  mutating func verify(
    _ authorization: ArraySlice<UInt8>?, now: Int64
  ) -> (check: ProviderTokenCheck, issuedAt: Int64) {
    guard let authorization, authorization.count > 7,
      authorization.prefix(7).elementsEqual("bearer ".utf8) || authorization.prefix(7).elementsEqual("Bearer ".utf8)
    else { return (.missing, 0) }
    let value = Array(authorization)
    if let issuedAt = known[value] { return (ProviderTokenVerifier.checkAge(issuedAt: issuedAt, now: now), issuedAt) }
    guard value.count <= ProviderTokenVerifier.maximumBytes, let issuedAt = issueTime(of: value.dropFirst(7)) else {
      return (.invalid, 0)
    }
    if known.count >= ProviderTokenVerifier.cacheLimit { known = [:] }
    known[value] = issuedAt
    return (ProviderTokenVerifier.checkAge(issuedAt: issuedAt, now: now), issuedAt)
  }

  /// The number of different tokens that were admitted since ``forgetUpdates()``.
  var tokens: Int { updates.count }

  /// Counts tokens from the beginning: the next one is the key's first.
  mutating func forgetUpdates() {
    updates = ProviderTokenUpdates()
    period += 1
  }

  /// Returns whether a push with this valid `authorization` may pass. See ``ProviderTokenUpdates``.
  mutating func admits(_ authorization: [UInt8], updateSeconds: Int64, now: Int64) -> Bool {
    updates.admits(authorization, updateSeconds: updateSeconds, now: now)
  }

  static func checkAge(issuedAt: Int64, now: Int64) -> ProviderTokenCheck {
    if now - issuedAt > lifetime { return .expired }
    return issuedAt - now > tolerance ? .invalid : .valid
  }

  /// Returns `iat` of a token of this key and team; nil for any other token.
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
    // The limits prevent an overflow of the age.
    return key.verifies(signature, of: signed) && (0...1 << 40).contains(issuedAt) ? issuedAt : nil
  }
}

/// Decodes base64url without padding. Returns nil for an invalid character.
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

/// The result of checking a provider token at some time.
enum ProviderTokenCheck: Equatable {
  case valid, missing, invalid, expired, updatedTooOften

  var refusal: Answer? {
    switch self {
    case .valid: nil
    case .missing: Answer(403, "MissingProviderToken")
    case .invalid: Answer(403, "InvalidProviderToken")
    case .expired: Answer(403, "ExpiredProviderToken")
    case .updatedTooOften: Answer(429, "TooManyProviderTokenUpdates")
    }
  }
}

/// The provider token of a connection. The same token is not verified again.
struct ConnectionProvider {
  /// The last valid `authorization`.
  private var value: [UInt8] = []
  /// Unix seconds.
  private var issuedAt: Int64 = 0
  /// The verifier's period in which the value was admitted.
  private var period = 0

  /// Whether a valid provider token was received.
  var isKnown: Bool { !value.isEmpty }

  /// Checks `authorization` at `now` in unix seconds, and stores a valid one.
  ///
  /// `updateSeconds` is the minimum time between two new tokens of the key, on whatever connection; 0 for no limit.
  mutating func check(
    _ authorization: ArraySlice<UInt8>?, with verifier: inout ProviderTokenVerifier, updateSeconds: Int64, now: Int64
  ) -> ProviderTokenCheck {
    if let authorization, isKnown, period == verifier.period, isSame(authorization, value) {
      return ProviderTokenVerifier.checkAge(issuedAt: issuedAt, now: now)
    }
    let (check, issuedAt) = verifier.verify(authorization, now: now)
    guard check == .valid, let authorization else { return check }
    let value = Array(authorization)
    guard verifier.admits(value, updateSeconds: updateSeconds, now: now) else { return .updatedTooOften }
    self.value = value
    self.issuedAt = issuedAt
    period = verifier.period
    return .valid
  }
}

private func isSame(_ left: ArraySlice<UInt8>, _ right: [UInt8]) -> Bool {
  guard left.count == right.count else { return false }
  return left.withUnsafeBytes { left in
    right.withUnsafeBytes { right in
      guard let first = left.baseAddress, let second = right.baseAddress else { return true }
      return memcmp(first, second, left.count) == 0
    }
  }
}
