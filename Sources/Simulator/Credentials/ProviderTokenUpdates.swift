/// The provider tokens of a key that pushes were admitted with, on any connection.
///
/// Apple refuses a key that gets new tokens too often, whoever made them. A token that was admitted before is not new.
struct ProviderTokenUpdates {
  static let maximumTokens = 1000

  private var admitted: Set<[UInt8]> = []
  /// When the newest token was first received, in unix seconds.
  private var newestSince: Int64?

  /// The number of different tokens.
  var count: Int { admitted.count }

  /// Returns whether a push with this valid `authorization` may pass at `now`, in unix seconds.
  ///
  /// `updateSeconds` is the minimum time between two new tokens; 0 for no limit. The first token is not an update.
  mutating func admits(_ authorization: [UInt8], updateSeconds: Int64, now: Int64) -> Bool {
    if admitted.contains(authorization) { return true }
    if let newestSince, now - newestSince < updateSeconds { return false }
    if admitted.count >= ProviderTokenUpdates.maximumTokens { admitted = [] }
    admitted.insert(authorization)
    newestSince = now
    return true
  }
}
