/// The provider tokens of a key that pushes were admitted with, on any connection.
///
/// Apple refuses a key that gets new tokens too often, whoever made them. A token that was admitted before is not new.
struct ProviderTokenUpdates {
  static let maximumTokens = 1000

  /// New tokens that may pass within the time between two; the first is one of them.
  var allowed = 1
  private var admitted: Set<[UInt8]> = []
  /// When the newest tokens were first received, in unix seconds; at most ``allowed``.
  private var newestSince: [Int64] = []

  init(allowed: Int = 1) { self.allowed = allowed }

  /// The number of different tokens.
  var count: Int { admitted.count }

  /// Returns whether a push with this valid `authorization` may pass at `now`, in unix seconds.
  ///
  /// `updateSeconds` is the minimum time between two new tokens; 0 for no limit. The first token is not an update.
  mutating func admits(_ authorization: [UInt8], updateSeconds: Int64, now: Int64) -> Bool {
    if admitted.contains(authorization) { return true }
    if newestSince.count == allowed, let oldest = newestSince.first, now - oldest < updateSeconds { return false }
    if admitted.count >= ProviderTokenUpdates.maximumTokens { admitted = [] }
    admitted.insert(authorization)
    newestSince = (newestSince + [now]).suffix(allowed)
    return true
  }
}
