import JSON

/// The one active token of an instance.
struct InstanceRegistration: Equatable {
  let token: String
  let environment: String?
  let bundleID: String?
  /// False once APNs has called the token invalid, until the instance registers again.
  let isActive: Bool
  /// Unix ms.
  let updatedAt: Int64

  /// Nil for bytes that are none.
  init?(json bytes: [UInt8]) {
    guard let value = try? JSONValue(parsing: bytes), let text = value["token"]?.string,
      let token = DeviceToken.parse(Array(text.utf8))
    else { return nil }
    self.token = token
    environment = value["environment"]?.string
    bundleID = value["bundleId"]?.string
    isActive = value["active"]?.bool ?? true
    updatedAt = value["updatedAt"]?.integer ?? 0
  }

  /// An instance has no user.
  func device(instance: String) -> Device {
    let metadata = DeviceMetadata(
      username: "", platform: .ios, updatedAt: updatedAt, bundleID: bundleID, environment: environment)
    return Device(token: token, metadata: metadata)
  }
}
