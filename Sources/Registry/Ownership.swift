import PushModel

/// An entry of a set that must be removed, and why.
public struct Removal: Sendable, Equatable {
  public enum Reason: String, Sendable {
    /// The entry is not a well-formed token, so it has no metadata.
    case malformedToken = "malformed_token"
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
  package static func decide(entry: [UInt8], metadata: [UInt8]?, owner: String) -> Decision {
    decide(entry, metadata) { $0.username == owner ? nil : .otherOwner }
  }

  /// Decides about an entry of an app's audience.
  static func decide(entry: [UInt8], metadata: [UInt8]?, app: String) -> Decision {
    decide(entry, metadata) { $0.bundleID == app && $0.kind == .app ? nil : .otherApp }
  }

  /// Returns the device of a token that a producer named. It needs no metadata; unreadable metadata is ignored.
  static func device(_ token: String, metadata: [UInt8]?) -> Device {
    guard let metadata = metadata.flatMap(DeviceMetadata.init(parsing:)) else { return Device(token: token) }
    return Device(token: token, metadata: metadata)
  }

  /// Returns the device of an entry of a Live Activity's hash; nil if it has expired or is another activity's. The hash expires, so
  /// that such entries need not be removed.
  static func device(_ entry: [UInt8], metadata: [UInt8]?, ofActivity id: String) -> Device? {
    guard DeviceToken.isWellFormed(entry), let metadata = metadata.flatMap(DeviceMetadata.init(parsing:)),
      metadata.kind == .activity, metadata.activity == id
    else { return nil }
    return Device(token: String(decoding: entry, as: UTF8.self), metadata: metadata)
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
    if let reason = fault(metadata) { return .remove(Removal(entry: entry, reason: reason)) }
    return .send(Device(token: String(decoding: entry, as: UTF8.self), metadata: metadata))
  }
}
