/// A device as it is to be registered. Values have been checked and normalised by who asks.
public struct Registration: Sendable, Equatable {
  public let token: String
  public let username: String
  public let platform: Platform
  /// Nil: what is known already stays.
  public let bundleID: String?
  /// Nil: what is known already stays.
  public let environment: DeviceEnvironment?
  /// Unix milliseconds.
  public let now: Int64

  public init(
    token: String, username: String, platform: Platform, bundleID: String? = nil,
    environment: DeviceEnvironment? = nil, now: Int64
  ) {
    self.token = token
    self.username = username
    self.platform = platform
    self.bundleID = bundleID
    self.environment = environment
    self.now = now
  }
}
