import Registry
import PushModel

extension BackupEntry {
  /// Reads what is stored of a device. Nil when it is not there any more.
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
    self = .device(token: String(decoding: token, as: UTF8.self), metadata)
  }

  /// Reads what is stored of an instance. Nil when it is not there any more.
  init?(storedInstance id: [UInt8], record: [UInt8]?) {
    guard let record else { return nil }
    guard let record = InstanceRecord(parsing: record) else {
      self = .refused(.malformedInstance)
      return
    }
    self = .instance(id: String(decoding: id, as: UTF8.self), record)
  }
}
