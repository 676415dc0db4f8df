import PushModel

/// Decides from an entry and its metadata whether it is sent to. A token belongs to whoever its metadata names.
enum Ownership {
  enum Decision: Equatable {
    case send(Device)
    case remove(Removal)
  }

  /// For an entry of a user's set.
  static func judge(entry: [UInt8], metadata: [UInt8]?, owner: String) -> Decision {
    judge(entry, metadata) { $0.username == owner ? nil : .otherOwner }
  }

  /// For an entry of an app's audience.
  static func judge(entry: [UInt8], metadata: [UInt8]?, app: String) -> Decision {
    judge(entry, metadata) { $0.bundleID == app ? nil : .otherApp }
  }

  /// For a token that a producer named: nothing to remove, and unreadable metadata is no metadata.
  static func named(_ token: String, metadata: [UInt8]?) -> Device {
    guard let metadata = metadata.flatMap(DeviceMetadata.init(parsing:)) else { return Device(token: token) }
    return Device(token: token, metadata: metadata)
  }

  private static func judge(
    _ entry: [UInt8], _ metadata: [UInt8]?, _ fault: (DeviceMetadata) -> Removal.Reason?
  ) -> Decision {
    guard DeviceToken.isWellFormed(entry) else { return .remove(Removal(entry: entry, reason: .malformedToken)) }
    guard let metadata else { return .remove(Removal(entry: entry, reason: .noMetadata)) }
    guard let metadata = DeviceMetadata(parsing: metadata) else {
      return .remove(Removal(entry: entry, reason: .invalidMetadata))
    }
    if let reason = fault(metadata) { return .remove(Removal(entry: entry, reason: reason)) }
    return .send(Device(token: String(decoding: entry, as: UTF8.self), metadata: metadata))
  }
}
