public import PushModel

/// A device as it is to be registered. Values have been checked and normalised by who asks.
public struct Registration: Sendable, Equatable {
  public let token: String
  /// Empty: for the app's audience alone. An owner that the device has stays.
  public let username: String
  public let platform: Platform
  /// Nil: what is known already stays.
  public let bundleID: String?
  /// `bundleID` was not named by the device: what is known already goes before it.
  public let isBundleAssumed: Bool
  /// Nil: what is known already stays.
  public let environment: PushEnvironment?
  /// Unix milliseconds.
  public let now: Int64

  public init(
    token: String, username: String, platform: Platform, bundleID: String? = nil,
    isBundleAssumed: Bool = false, environment: PushEnvironment? = nil, now: Int64
  ) {
    self.token = token
    self.username = username
    self.platform = platform
    self.bundleID = bundleID
    self.isBundleAssumed = isBundleAssumed
    self.environment = environment
    self.now = now
  }
}
