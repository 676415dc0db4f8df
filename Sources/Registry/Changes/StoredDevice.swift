import PushModel

/// What is stored about a token.
struct StoredDevice: Sendable, Equatable {
  /// The entry under which it is stored: a token, or another form of it that is about to be united with the token.
  let token: String
  /// The metadata as it is stored; empty if there is none.
  let bytes: [UInt8]
  /// Nil if there is none or it cannot be read.
  let metadata: DeviceMetadata?

  /// Empty `bytes` stand for a key that does not exist or has another type.
  init(_ token: String, _ bytes: [UInt8]) {
    self.token = token
    self.bytes = bytes
    metadata = bytes.isEmpty ? nil : DeviceMetadata(parsing: bytes)
  }

  /// What is stored after `metadata` was written; nil if it was deleted.
  init(_ token: String, written metadata: DeviceMetadata?) {
    self.token = token
    self.metadata = metadata
    bytes = metadata?.json() ?? []
  }

  var device: Device { metadata.map { Device(entry: token, metadata: $0) } ?? Device(token: DeviceToken(token)) }

  /// Empty if the device has no owner.
  var owner: Username { metadata?.username ?? .nobody }
  /// Empty if the device has no app.
  var app: String { metadata?.bundleID ?? "" }
  var limitGroup: DeviceLimitGroup { DeviceLimitGroup(metadata) }
  /// The sets that may contain the device: those that its metadata names, and its owner's under the form of the name that is stored.
  var sets: [DeviceSet] {
    guard let metadata else { return [] }
    return metadata.sets + (metadata.storedName.map { [.userForm($0)] } ?? [])
  }

  /// The phone whose tokens change hands when `user` registers this one; nil if none does.
  func phone(leavingFor user: Username) -> String? {
    guard !owner.isEmpty, owner != user, !user.isEmpty, metadata?.kind == .app else { return nil }
    return metadata?.deviceID
  }

  /// What the token has replaced, if it stays the token of its phone.
  func marks(for new: DeviceMetadata) -> ReplacedMarks {
    metadata.map { $0.deviceID == new.deviceID && $0.username == new.username ? $0.replaced : .init() } ?? .init()
  }

  /// The metadata of the device after its token was replaced; nil if there is none.
  func exchanged(at now: Int64) -> DeviceMetadata? {
    guard var metadata else { return nil }
    // The first registration was not later than the last one that is known.
    metadata.createdAt = metadata.createdAt ?? (metadata.updatedAt == 0 ? now : metadata.updatedAt)
    metadata.updatedAt = now
    metadata.unreachable = nil
    return metadata
  }
}
