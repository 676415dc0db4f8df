package import PushModel
package import Registry

/// One entry of a backup file, or of a file that another sender has written.
package enum BackupEntry: Sendable, Equatable {
  /// Why an entry is left out. The raw value is the name in a summary.
  package enum Refusal: String, Sendable {
    case malformedToken = "malformed_token"
    case malformedApp = "malformed_app"
    case malformedUsername = "malformed_username"
    case malformedDate = "malformed_date"
    case malformedInstance = "malformed_instance"
    case malformedChannel = "malformed_channel"
    /// A member has another type or an unknown value.
    case malformedRecord = "malformed_record"
    /// The other sender no longer sends to the device.
    case disabled
    /// The installation belongs to another app.
    case otherApp = "other_app"
    /// The device is not one of APNs.
    case otherPlatform = "other_platform"
    /// There is no device token.
    case noToken = "no_token"
    /// The user already has the maximum number of devices, and none of them is older.
    case tooManyDevices = "too_many_devices"
    /// One of the keys of the entry holds another type in Redis.
    case wrongType = "wrong_type"
  }

  /// The username is empty for an anonymous device.
  case device(token: DeviceToken, DeviceMetadata)
  case instance(id: String, InstanceRecord)
  case channel(Channel)
  case refused(Refusal)
}

extension BackupEntry {
  /// Reads the stored metadata of a device. Nil if `metadata` is nil.
  init?(storedToken token: [UInt8], metadata: [UInt8]?) {
    guard let metadata else { return nil }
    guard DeviceToken.isWellFormed(token) else {
      self = .refused(.malformedToken)
      return
    }
    guard let metadata = DeviceMetadata(parsing: metadata) else {
      self = .refused(.malformedRecord)
      return
    }
    self = .device(token: DeviceToken(String(decoding: token, as: UTF8.self), of: metadata.platform), metadata)
  }

  /// Reads the stored record of a channel. Nil if `record` is nil.
  init?(storedChannel path: [UInt8], record: [UInt8]?) {
    guard let record else { return nil }
    self = Channel(path: path, json: record).map(BackupEntry.channel) ?? .refused(.malformedChannel)
  }

  /// Reads the stored record of an instance. Nil if `record` is nil.
  init?(storedInstance id: [UInt8], record: [UInt8]?) {
    guard let record else { return nil }
    guard let record = InstanceRecord(parsing: record) else {
      self = .refused(.malformedInstance)
      return
    }
    self = .instance(id: String(decoding: id, as: UTF8.self), record)
  }
}
