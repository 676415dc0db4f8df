public import PushModel

/// A device to be registered. The caller has validated and normalised the values.
public struct Registration: Sendable, Equatable {
  public let token: DeviceToken
  /// Empty for an anonymous device. If the device has an owner, that is kept.
  public let username: Username
  public let platform: Platform
  /// Nil keeps the known value.
  public let bundleID: String?
  /// Whether `bundleID` is a default that the device did not send, so that a known value has precedence.
  public let isBundleAssumed: Bool
  /// Nil keeps the known value.
  public let environment: PushEnvironment?
  /// Nil keeps the known value, which is at first `app`.
  public let kind: DeviceKind?
  /// The phone: 1 to 128 of `A-Za-z0-9._:-`. Nil keeps the known value.
  public let deviceID: String?
  /// As ``DeviceMetadata/activity``. Nil keeps the known value.
  public let activity: String?
  /// As ``DeviceMetadata/frequentPushes``. Nil keeps the known value.
  public let frequentPushes: Bool?
  /// Unix milliseconds.
  public let now: Int64
  /// The former tokens of the phone, as the registry has found them.
  var replaced = ReplacedMarks()

  public init(
    token: DeviceToken, username: Username, platform: Platform, bundleID: String? = nil,
    isBundleAssumed: Bool = false, environment: PushEnvironment? = nil, kind: DeviceKind? = nil,
    deviceID: String? = nil, activity: String? = nil, frequentPushes: Bool? = nil, now: Int64
  ) {
    self.token = token
    self.username = username
    self.platform = platform
    self.bundleID = bundleID
    self.isBundleAssumed = isBundleAssumed
    self.environment = environment
    self.kind = kind
    self.deviceID = deviceID
    self.activity = activity
    self.frequentPushes = frequentPushes
    self.now = now
  }
}

/// The result of a registration.
public struct Enrollment: Sendable, Equatable {
  /// The device as it is registered now.
  public let device: Device
  /// The user who owned the device before; nil if no other user did.
  public let previousOwner: Username?

  init(_ outcome: ChangeOutcome, of user: Username) {
    device = outcome.after.device
    let former = outcome.end == .written ? outcome.before.owner : .nobody
    previousOwner = former.isEmpty || former == user ? nil : former
  }
}

/// What became of the exchange of a token.
public enum Replacement: Sendable, Equatable {
  case done(Device)
  /// The user has no such device, of an app of the scope. Nothing was changed.
  case notFound
  /// The new token is registered for an app outside of the scope. Nothing was changed.
  case foreign

  /// Nil if nothing was changed.
  public var device: Device? { if case .done(let device) = self { device } else { nil } }

  init(_ outcome: ChangeOutcome?) {
    switch outcome?.end {
    case .written?: self = outcome.map { .done($0.after.device) } ?? .notFound
    case .foreign?: self = .foreign
    default: self = .notFound
    }
  }
}

/// What became of the registration of a token of a Live Activity.
public enum ActivityEnrollment: Sendable, Equatable {
  case done
  /// The activity has too many tokens of others.
  case full
  /// The token is registered for an app outside of the scope.
  case foreign
}
