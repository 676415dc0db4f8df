public import PushModel

/// What unregistering a device, or all devices of a user, removed.
public struct Unregistration: Sendable, Equatable {
  /// Well-formed tokens removed from the user's set.
  public var entries = 0
  /// Metadata removed that named the user.
  public var metadata = 0
  /// Entries removed from the set that were not well-formed tokens.
  public var malformedEntries = 0
  /// Whether there were well-formed tokens, whose metadata was read.
  public var hasLookedUp = false
  /// Whether the set became empty.
  public var isSetGone = false

  public init(entries: Int = 0, metadata: Int = 0) {
    self.entries = entries
    self.metadata = metadata
  }
}

/// A device whose token APNs refused as invalid.
public struct StaleDevice: Sendable, Equatable {
  public let token: DeviceToken
  /// Owner and app as the resolution returned them; the owner of an anonymous device is empty.
  public let owner: Username
  public let bundleID: String?
  /// Unix milliseconds. A later registration is kept. If APNs named no time, this is the time of the registration.
  public let notAfter: Int64
  /// APNs' reason, for the event.
  public let reason: String

  /// The reason of an answer without one.
  public static let unknownReason = "stale"

  public init(
    token: DeviceToken, owner: Username, bundleID: String?, notAfter: Int64, reason: String = StaleDevice.unknownReason
  ) {
    self.token = token
    self.owner = owner
    self.bundleID = bundleID
    self.notAfter = notAfter
    self.reason = reason
  }
}

/// What became of a device or an instance of a backup.
package enum Restoration: Sendable {
  case created
  /// An older record was replaced.
  case updated
  /// The record in Redis stays.
  case kept
  /// A key has another type.
  case wrongType
  /// The user's devices must be read first.
  case full
}

/// Some of a user's devices, in the order of their tokens.
public struct DevicePage: Sendable, Equatable {
  public let devices: [Device]
  /// Whether there are devices after the last.
  public let hasMore: Bool
  /// Entries that do not belong to the user, for ``Registry/clean(user:_:completion:)``.
  public let removals: [Removal]
}
