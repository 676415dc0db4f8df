public import PushModel

/// The operating system of a device.
public enum Platform: String, Sendable {
  case ios, android
}

extension DeviceToken {
  /// The token of a device of this platform.
  public init(_ text: String, of platform: Platform) {
    self = platform == .android ? DeviceToken(verbatim: text) : DeviceToken(text)
  }
}

/// A device that a push may be sent to.
public struct Device: Sendable, Equatable {
  public let token: DeviceToken
  /// Nil for an anonymous device, an instance's device and a token that is not registered.
  public let username: Username?
  public let platform: Platform
  /// Nil if it was registered for none: it is a device of the default app.
  public let bundleID: String?
  /// Nil if it is unknown.
  public let environment: PushEnvironment?
  /// Unix milliseconds; 0 if the token is not registered.
  public let updatedAt: Int64
  /// Unix milliseconds of the first registration; nil if unknown.
  public let createdAt: Int64?
  /// Nil for a token that is not registered.
  public let kind: DeviceKind?
  /// The phone, if the app names it.
  public let deviceID: String?
  /// As ``DeviceMetadata/activity``.
  public let activity: String?
  /// As ``DeviceMetadata/frequentPushes``.
  public let frequentPushes: Bool?
  /// As ``DeviceMetadata/replaced``.
  public let replaced: ReplacedMarks
  /// As ``DeviceMetadata/unreachable``.
  public let unreachable: Int64?

  public init(
    token: DeviceToken, username: Username? = nil, platform: Platform = .ios, bundleID: String? = nil,
    environment: PushEnvironment? = nil, updatedAt: Int64 = 0, createdAt: Int64? = nil, kind: DeviceKind? = nil,
    deviceID: String? = nil, activity: String? = nil, frequentPushes: Bool? = nil,
    replaced: ReplacedMarks = ReplacedMarks(), unreachable: Int64? = nil
  ) {
    self.token = token
    self.username = username
    self.platform = platform
    self.bundleID = bundleID
    self.environment = environment
    self.updatedAt = updatedAt
    self.createdAt = createdAt
    self.kind = kind
    self.deviceID = deviceID
    self.activity = activity
    self.frequentPushes = frequentPushes
    self.replaced = replaced
    self.unreachable = unreachable
  }

  /// The device of an entry, under which `metadata` is stored.
  package init(entry: String, metadata: DeviceMetadata) {
    self.init(
      token: DeviceToken(entry, of: metadata.platform), username: metadata.username.isEmpty ? nil : metadata.username,
      platform: metadata.platform,
      bundleID: metadata.bundleID, environment: metadata.environment, updatedAt: metadata.updatedAt,
      createdAt: metadata.createdAt, kind: metadata.kind, deviceID: metadata.deviceID,
      activity: metadata.activity, frequentPushes: metadata.frequentPushes,
      replaced: metadata.replaced, unreachable: metadata.unreachable)
  }

  /// Whether it has come back although another token of the phone's id has replaced it: it is another phone's.
  public var hasComeBack: Bool { replaced.contains(token.text) }
}
