public import PushModel

/// The operating system of a device.
public enum Platform: String, Sendable {
  case ios, android
}

/// A device that a push may be sent to.
public struct Device: Sendable, Equatable {
  public let token: String
  /// Nil for an anonymous device, an instance's device and a token that is not registered.
  public let username: String?
  public let platform: Platform
  /// Nil for the configured one.
  public let bundleID: String?
  /// Nil for the configured one.
  public let environment: PushEnvironment?
  /// Unix milliseconds; 0 if the token is not registered.
  public let updatedAt: Int64
  /// Unix milliseconds of the first registration; nil if unknown.
  public let createdAt: Int64?

  public init(
    token: String, username: String? = nil, platform: Platform = .ios, bundleID: String? = nil,
    environment: PushEnvironment? = nil, updatedAt: Int64 = 0, createdAt: Int64? = nil
  ) {
    self.token = token
    self.username = username
    self.platform = platform
    self.bundleID = bundleID
    self.environment = environment
    self.updatedAt = updatedAt
    self.createdAt = createdAt
  }

  init(token: String, metadata: DeviceMetadata) {
    self.init(
      token: token, username: metadata.username.isEmpty ? nil : metadata.username, platform: metadata.platform,
      bundleID: metadata.bundleID, environment: metadata.environment, updatedAt: metadata.updatedAt,
      createdAt: metadata.createdAt)
  }
}
