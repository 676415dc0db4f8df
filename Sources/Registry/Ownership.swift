package import PushModel

/// An entry of a set that must be removed, and why.
public struct Removal: Sendable, Equatable {
  public enum Reason: String, Sendable {
    /// The entry is not a well-formed token, so it has no metadata.
    case malformedToken = "malformed_token"
    /// The entry is another form of a token of APNs. What is stored under it is to be united with the token's own.
    case otherForm = "other_form"
    case noMetadata = "no_metadata"
    case invalidMetadata = "invalid_metadata"
    case otherOwner = "other_owner"
    case otherApp = "other_app"
  }

  /// Any bytes.
  public let entry: [UInt8]
  public let reason: Reason

  public init(entry: [UInt8], reason: Reason) {
    self.entry = entry
    self.reason = reason
  }
}

/// Decides from a set's entry and its metadata whether pushes are sent to it. The metadata determines the owner of a
/// token.
package enum Ownership {
  package enum Decision: Equatable {
    case send(Device)
    case remove(Removal)
  }

  /// Decides about an entry of a user's set.
  package static func decide(entry: [UInt8], metadata: [UInt8]?, owner: Username) -> Decision {
    decide(entry, metadata) { $0.username == owner ? nil : .otherOwner }
  }

  /// Decides about an entry of an app's audience.
  static func decide(entry: [UInt8], metadata: [UInt8]?, app: String) -> Decision {
    decide(entry, metadata) { $0.bundleID == app && $0.kind == .app ? nil : .otherApp }
  }

  /// Returns the device of a token that a producer named. It needs no metadata; unreadable metadata is ignored.
  static func device(_ token: DeviceToken, metadata: [UInt8]?) -> Device {
    guard let metadata = metadata.flatMap(DeviceMetadata.init(parsing:)) else { return Device(token: token) }
    return Device(entry: token.text, metadata: metadata)
  }

  /// Decides about what is stored under another form of a token that a producer named, which has no metadata of its own.
  static func decide(_ token: DeviceToken, otherForm entry: String, metadata: [UInt8]?) -> Decision {
    guard let metadata = metadata.flatMap(DeviceMetadata.init(parsing:)) else { return .send(Device(token: token)) }
    if let removal = otherForm(Array(entry.utf8), metadata) { return .remove(removal) }
    return .send(Device(entry: entry, metadata: metadata))
  }

  /// Decides about an entry of a Live Activity's hash; nil if it has expired or is another activity's. The hash expires, so that such
  /// entries need not be removed.
  static func decide(entry: [UInt8], metadata: [UInt8]?, ofActivity id: String) -> Decision? {
    guard DeviceToken.isWellFormed(entry), let metadata = metadata.flatMap(DeviceMetadata.init(parsing:)),
      metadata.kind == .activity, metadata.activity == id
    else { return nil }
    if let removal = otherForm(entry, metadata) { return .remove(removal) }
    return .send(Device(entry: String(decoding: entry, as: UTF8.self), metadata: metadata))
  }

  /// What is to be done with an entry that is another form of its token; nil for any other. Android's tokens have one form each.
  private static func otherForm(_ entry: [UInt8], _ metadata: DeviceMetadata) -> Removal? {
    DeviceToken.isOwnForm(entry) || metadata.platform == .android ? nil : Removal(entry: entry, reason: .otherForm)
  }

  private static func decide(
    _ entry: [UInt8], _ metadata: [UInt8]?, _ fault: (DeviceMetadata) -> Removal.Reason?
  ) -> Decision {
    guard DeviceToken.isWellFormed(entry) else { return .remove(Removal(entry: entry, reason: .malformedToken)) }
    // Some servers return empty bytes for a key that is absent.
    guard let metadata, !metadata.isEmpty else { return .remove(Removal(entry: entry, reason: .noMetadata)) }
    guard let metadata = DeviceMetadata(parsing: metadata) else {
      return .remove(Removal(entry: entry, reason: .invalidMetadata))
    }
    if let removal = otherForm(entry, metadata) { return .remove(removal) }
    if let reason = fault(metadata) { return .remove(Removal(entry: entry, reason: reason)) }
    return .send(Device(entry: String(decoding: entry, as: UTF8.self), metadata: metadata))
  }
}
