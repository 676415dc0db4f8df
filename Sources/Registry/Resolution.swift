import EventLoop
public import Redis

/// Which devices to find. Usernames must be normalised.
public enum DeviceQuery: Sendable, Equatable {
  case user(String)
  /// One device, if the user owns it.
  case userToken(user: String, token: String)
  /// One device, even if it is not registered.
  case token(String)
  case tokens([String])
  case instance(String)
}

/// The devices of one query.
public struct Resolution: Sendable, Equatable {
  /// The devices to send to.
  public var devices: [Device]
  /// Entries of the user's set for ``Registry/clean(user:_:completion:)``.
  public var removals: [Removal]
  /// Set instead of devices if this user's set is too large; call ``Registry/resolveLarge(_:completion:)``.
  public var largeUser: String?
  /// Set instead of devices if Redis failed.
  public var error: RedisError?

  public init(devices: [Device] = [], removals: [Removal] = [], largeUser: String? = nil, error: RedisError? = nil) {
    self.devices = devices
    self.removals = removals
    self.largeUser = largeUser
    self.error = error
  }

  mutating func apply(_ decision: Ownership.Decision) {
    switch decision {
    case .send(let device): devices.append(device)
    case .remove(let removal): removals.append(removal)
    }
  }
}
