public import Redis

/// What the registry knows about one query.
public struct Resolution: Sendable, Equatable {
  /// To be sent to.
  public var devices: [Device]
  /// Entries of the user's set for ``Registry/clean(user:_:completion:)``; never sent to.
  public var removals: [Removal]
  /// Nothing is known: redis did not answer this query. The other parts are empty then.
  public var error: RedisError?

  public init(devices: [Device] = [], removals: [Removal] = [], error: RedisError? = nil) {
    self.devices = devices
    self.removals = removals
    self.error = error
  }
}
