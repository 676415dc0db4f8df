import Crypto
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
  /// Unix seconds. The age of any of them fits.
  private static let times: ClosedRange<Int64> = 0...1 << 40
  static let maximumBytes = 4096

  let keyID: String
  let teamID: String
  let key: PublicKey
  /// Further keys, of the same team and of others.
  private(set) var others = OtherKeys()
  /// Values with a valid signature.
  private var known: [[UInt8]: Known] = [:]
  private(set) var verifications = 0
  /// By key id.
  private var updates: [String: ProviderTokenUpdates] = [:]
  /// By team id, refused tokens too.
  private var teamUpdates: [String: ProviderTokenUpdates] = [:]
  /// The number of times that ``forgetUpdates()`` was called.
  private(set) var period = 0

  init(keyID: String, teamID: String, key: PublicKey) {
    self.keyID = keyID
    self.teamID = teamID
    self.key = key
  }

  /// A provider token whose signature is valid.
  struct Known {
    var keyID = ""
    /// Unix seconds.
    var issuedAt: Int64 = 0
  }

  /// Verifies `authorization` at `now` in unix seconds. Also returns whose token it is and when it was issued.
  mutating func verify(
    _ authorization: ArraySlice<UInt8>?, now: Int64
  ) -> (check: ProviderTokenCheck, token: Known) {
    guard let authorization, authorization.count > 7,
      authorization.prefix(7).elementsEqual("bearer ".utf8) || authorization.prefix(7).elementsEqual("Bearer ".utf8)
    else { return (.missing, Known()) }
    let value = Array(authorization)
    if let token = known[value] { return (ProviderTokenVerifier.checkAge(issuedAt: token.issuedAt, now: now), token) }
    guard value.count <= ProviderTokenVerifier.maximumBytes, let token = read(value.dropFirst(7)) else {
      return (.invalid, Known())
    }
    if known.count >= ProviderTokenVerifier.cacheLimit { known = [:] }
    known[value] = token
    return (ProviderTokenVerifier.checkAge(issuedAt: token.issuedAt, now: now), token)
  }

  /// Changes the further keys. Tokens that were accepted before are checked again.
  mutating func changeKeys(_ change: (inout OtherKeys) -> Void) {
    change(&others)
    known = [:]
    forgetUpdates()
  }

  /// The number of different tokens that were admitted since ``forgetUpdates()``.
  var tokens: Int { updates.values.reduce(0) { $0 + $1.count } }

  /// Counts tokens from the beginning: the next one is the key's first.
  mutating func forgetUpdates() {
    updates = [:]
    teamUpdates = [:]
    period += 1
  }

  /// Counts a token of the team, valid or not. Returns whether it may pass, as Apple counts: the third new one is too many, and keys
  /// are not told apart.
  mutating func counts(_ authorization: [UInt8], of keyID: String, updateSeconds: Int64, now: Int64) -> Bool {
    teamUpdates[team(of: keyID) ?? teamID, default: ProviderTokenUpdates(allowed: 2)].admits(
      authorization, updateSeconds: updateSeconds, now: now)
  }

  /// Returns whether a push with this valid `authorization` may pass. See ``ProviderTokenUpdates``.
  mutating func admits(_ authorization: [UInt8], of keyID: String, updateSeconds: Int64, now: Int64) -> Bool {
    updates[keyID, default: ProviderTokenUpdates()].admits(authorization, updateSeconds: updateSeconds, now: now)
  }

  static func checkAge(issuedAt: Int64, now: Int64) -> ProviderTokenCheck {
    if now - issuedAt > lifetime { return .expired }
    return issuedAt - now > tolerance ? .invalid : .valid
  }

  /// Reads a token of a key that is not revoked; nil for any other token.
  private mutating func read(_ token: ArraySlice<UInt8>) -> Known? {
    let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Base64URL.decode(parts[0]), let claims = Base64URL.decode(parts[1]),
      let signature = Base64URL.decode(parts[2]),
      let header = try? JSONValue(parsing: header), let claims = try? JSONValue(parsing: claims),
      header["alg"]?.string == "ES256", let id = header["kid"]?.string, let owner = owner(of: id),
      claims["iss"]?.string == owner.teamID, let issuedAt = claims["iat"]?.integer(in: ProviderTokenVerifier.times)
    else { return nil }
    verifications += 1
    let signed = token.prefix(parts[0].count + 1 + parts[1].count)
    guard owner.key.verifies(signature, of: signed) else { return nil }
    return Known(keyID: id, issuedAt: issuedAt)
  }

  /// Returns the key with this id; nil if there is none, or if it is revoked.
  private func owner(of id: String) -> (teamID: String, key: PublicKey)? {
    guard !others.revoked.contains(id) else { return nil }
    if let other = others.keys[id] { return (other.teamID, other.key) }
    return id == keyID ? (teamID, key) : nil
  }

  /// The team of a key that is not revoked.
  func team(of keyID: String) -> String? { owner(of: keyID)?.teamID }
}

/// The result of checking a provider token at some time.
enum ProviderTokenCheck: Equatable {
  case valid, missing, invalid, expired, wrongEnvironment, unrelatedKey, updatedTooOften

  var refusal: Answer? {
    switch self {
    case .valid: nil
    case .missing: Answer(403, "MissingProviderToken")
    case .invalid: Answer(403, "InvalidProviderToken")
    case .expired: Answer(403, "ExpiredProviderToken")
    case .wrongEnvironment: Answer(403, "BadEnvironmentKeyIdInToken")
    case .unrelatedKey: Answer(403, "UnrelatedKeyIdInToken")
    case .updatedTooOften: Answer(429, "TooManyProviderTokenUpdates")
    }
  }
}

/// The provider token of a connection. The same token is not verified again.
struct ConnectionProvider {
  /// The last valid `authorization`.
  private var value: [UInt8] = []
  /// Of the last valid token; empty before.
  private(set) var keyID = ""
  /// Unix seconds.
  private var issuedAt: Int64 = 0
  /// The verifier's period in which the value was admitted.
  private var period = 0
  /// When the value was first received, in unix seconds.
  private var changedAt: Int64 = 0
  /// Whether its token was changed too often: "that connection will be unusable".
  private var isUnusable = false
  /// The rules at the first push, which a connection keeps; nil unless it does.
  var rules: PushRules?

  /// Whether a valid provider token was received.
  var isKnown: Bool { !value.isEmpty }

  /// Checks `authorization` at `now` in unix seconds, and stores a valid one.
  ///
  /// `environment` is the gateway's, nil if it has none. `updateSeconds` is the minimum time between two new tokens of the key, on all connections together; 0 for no limit.
  /// With `isLikeApple` also between those of a connection, and of a team.
  mutating func check(
    _ authorization: ArraySlice<UInt8>?, with verifier: inout ProviderTokenVerifier,
    environment: GatewayEnvironment? = nil, updateSeconds: Int64, isLikeApple: Bool = false, now: Int64
  ) -> ProviderTokenCheck {
    if isUnusable { return .updatedTooOften }
    if let authorization, isKnown, period == verifier.period, isSame(authorization, value) {
      return ProviderTokenVerifier.checkAge(issuedAt: issuedAt, now: now)
    }
    let (check, token) = verifier.verify(authorization, now: now)
    if isLikeApple, check != .missing, let authorization {
      let isCounted = verifier.counts(Array(authorization), of: token.keyID, updateSeconds: updateSeconds, now: now)
      isUnusable = !isCounted || isKnown && check == .valid && now - changedAt < updateSeconds
      if isUnusable { return .updatedTooOften }
    }
    guard check == .valid, let authorization else { return check }
    guard verifier.others.isKey(token.keyID, of: environment) else { return .wrongEnvironment }
    // Apple ties a connection to the key of its first push.
    guard keyID.isEmpty || keyID == token.keyID else { return .unrelatedKey }
    let value = Array(authorization)
    let seconds = isLikeApple ? 0 : updateSeconds
    let admits = verifier.admits(value, of: token.keyID, updateSeconds: seconds, now: now)
    guard admits else { return .updatedTooOften }
    self.value = value
    keyID = token.keyID
    issuedAt = token.issuedAt
    period = verifier.period
    changedAt = now
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
