public import Redis

/// What the registry knows about one query.
public struct Resolution: Sendable, Equatable {
  /// To be sent to.
  public var devices: [Device]
  /// Entries of the user's set for ``Registry/clean(user:_:completion:)``; never sent to.
  public var removals: [Removal]
  /// Nothing is known yet: this user's set is too large for an exchange with others; ``Registry/resolveLarge(_:completion:)``.
  public var largeUser: String?
  /// Nothing is known: redis did not answer this query. The other parts are empty then.
  public var error: RedisError?

  public init(devices: [Device] = [], removals: [Removal] = [], largeUser: String? = nil, error: RedisError? = nil) {
    self.devices = devices
    self.removals = removals
    self.largeUser = largeUser
    self.error = error
  }
}
