package import Registry

/// One entry of a backup file.
package enum BackupEntry: Sendable, Equatable {
  /// Why an entry is left out. The file itself is sound.
  package enum Refusal: String, Sendable {
    case malformedToken = "malformed_token"
    case malformedApp = "malformed_app"
    case malformedUsername = "malformed_username"
    case malformedDate = "malformed_date"
    case malformedInstance = "malformed_instance"
    /// A member of another type, or of an unknown value.
    case malformedRecord = "malformed_record"
    /// Of a Parse export: not of the apps asked for.
    case otherApp = "other_app"
    /// Of a Parse export: no `ios` device.
    case otherPlatform = "other_platform"
    /// Of a Parse export: an installation that may not be sent to.
    case noToken = "no_token"
    /// The user has as many devices as allowed, and none of them is older.
    case tooManyDevices = "too_many_devices"
    /// What redis has under one of the entry's keys is of another type.
    case wrongType = "wrong_type"
  }

  /// The username is empty for a token that nobody owns.
  case device(token: String, DeviceMetadata)
  case instance(id: String, InstanceRecord)
  case refused(Refusal)
}
