/// The provider token that a connection has shown. The same bytes again cost a comparison.
struct ConnectionProvider {
  /// The `authorization` that was found right last.
  private var value: [UInt8] = []
  /// Unix seconds.
  private var issuedAt: Int64 = 0
  /// When this value first came, unix seconds.
  private var since: Int64 = 0

  /// A valid provider token has been seen.
  var isKnown: Bool { !value.isEmpty }

  /// The decision on `authorization` at `now`, unix seconds; a valid one is remembered. `updateSeconds`: how long a
  /// connection keeps to one token, 0 when it need not.
  mutating func decision(
    on authorization: ArraySlice<UInt8>?, by verifier: inout ProviderTokenVerifier, updateSeconds: Int64, now: Int64
  ) -> ProviderTokenCheck {
    if let authorization, isKnown, isSame(authorization, value) {
      return ProviderTokenVerifier.decision(issuedAt: issuedAt, now: now)
    }
    let (decision, issuedAt) = verifier.verify(authorization, now: now)
    guard decision == .valid, let authorization else { return decision }
    if isKnown, now - since < updateSeconds { return .updatedTooOften }
    value = Array(authorization)
    self.issuedAt = issuedAt
    since = now
    return .valid
  }
}
