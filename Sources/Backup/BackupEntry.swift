import Credentials
import Jobs
package import JSON
package import PushModel
package import Registry

/// One entry of a backup file, or of a file that another sender has written.
package enum BackupEntry: Sendable, Equatable {
  /// Why an entry is left out. The raw value is the name in a summary.
  package enum Refusal: String, Sendable {
    case malformedToken = "malformed_token"
    /// Another service's: the app has a token of APNs, too.
    case tokenOfFirebase = "token_of_firebase"
    case tokenOfExpo = "token_of_expo"
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

extension BackupEntry {
  /// Reads the record of a device. `app` is empty for a device without an app.
  package init(app: String, token: String, record: JSONValue) {
    do throws(Refused) {
      self = try BackupEntry.device(app, token, Fields(record: record))
    } catch {
      self = .refused(error.reason)
    }
  }

  /// Reads the record of a device that another sender or a database wrote. Its token must be one of APNs.
  package init(app: String, foreignToken text: String, record: JSONValue) {
    do throws(TokenFault) {
      self.init(app: app, token: try DeviceToken(apns: text).text, record: record)
    } catch {
      let reason: Refusal =
        switch error {
        case .firebase: .tokenOfFirebase
        case .expo: .tokenOfExpo
        case .uuid, .digits, .text: .malformedToken
        }
      self = .refused(reason)
    }
  }

  /// Reads the record of an instance.
  init(instance id: String, record: JSONValue) {
    do throws(Refused) {
      self = try BackupEntry.instance(id, Fields(record: record))
    } catch {
      self = .refused(error.reason)
    }
  }

  /// Reads the record of a channel.
  init(channel path: String, record: JSONValue) {
    self = Channel(path: path, record).map(BackupEntry.channel) ?? .refused(.malformedChannel)
  }

  /// The section of the file, the key there and the record. Nil for a refused entry.
  var place: (section: String, key: String, record: JSONObject)? {
    switch self {
    case .refused: nil
    case .instance(let id, let record): (BackupFormat.instances, id, BackupEntry.json(record))
    case .channel(let channel): (BackupFormat.channels, channel.path, channel.record)
    case .device(let token, let metadata):
      (metadata.bundleID ?? BackupFormat.noApp, token.text, BackupEntry.json(metadata))
    }
  }

  private static func device(_ app: String, _ token: String, _ fields: Fields) throws(Refused) -> BackupEntry {
    guard let token = BackupFormat.token(token) else { throw Refused(reason: .malformedToken) }
    guard BackupFormat.isBundleID(app) else { throw Refused(reason: .malformedApp) }
    let username = Username(try fields.string("username") ?? "")
    guard BackupFormat.isUsername(username.text) else { throw Refused(reason: .malformedUsername) }
    let createdAt = try fields.date("createdAt")
    let kind = try fields.choice("kind", DeviceKind.init(rawValue:)) ?? .app
    let platform = try fields.choice("platform", Platform.init(rawValue:)) ?? .ios
    return .device(
      token: DeviceToken(token, of: platform),
      DeviceMetadata(
        username: username, platform: platform,
        updatedAt: try fields.date("updatedAt") ?? createdAt ?? 0,
        bundleID: app == BackupFormat.noApp ? nil : app, environment: try fields.environment(), createdAt: createdAt,
        kind: kind, deviceID: try fields.deviceID(), activity: try fields.activity(kind),
        frequentPushes: try fields.bool("frequentPushes")))
  }

  private static func instance(_ id: String, _ fields: Fields) throws(Refused) -> BackupEntry {
    guard let id = Credential.normalized(id, of: .instance) else { throw Refused(reason: .malformedInstance) }
    guard let token = try fields.string("token").flatMap(BackupFormat.token) else {
      throw Refused(reason: .malformedToken)
    }
    let bundleID = try fields.string("bundleId")
    guard bundleID.map(BackupFormat.isBundleID) ?? true else { throw Refused(reason: .malformedApp) }
    return .instance(
      id: id,
      InstanceRecord(
        token: DeviceToken(token), environment: try fields.environment(), bundleID: bundleID,
        updatedAt: try fields.date("updatedAt") ?? 0, isActive: try fields.bool("active") ?? true,
        isSuspended: try fields.bool("suspended") ?? false))
  }

  private static func json(_ metadata: DeviceMetadata) -> JSONObject {
    [
      "createdAt": metadata.createdAt.map(date), "updatedAt": date(metadata.updatedAt),
      "username": metadata.username.isEmpty ? nil : metadata.username.text, "platform": metadata.platform.rawValue,
      "environment": metadata.environment?.rawValue, "kind": metadata.kind == .app ? nil : metadata.kind.rawValue,
      "deviceId": metadata.deviceID, "activity": metadata.activity, "frequentPushes": metadata.frequentPushes,
    ]
  }

  private static func json(_ record: InstanceRecord) -> JSONObject {
    [
      "token": record.token.text, "environment": record.environment?.rawValue, "bundleId": record.bundleID,
      "updatedAt": date(record.updatedAt), "active": record.isActive,
      "suspended": record.isSuspended ? true : nil,
    ]
  }

  /// Returns an ISO date, or the number if it is outside the range of ISO dates.
  private static func date(_ milliseconds: Int64) -> JSONValue {
    (0...Timestamp.maximum).contains(milliseconds) ? .string(Timestamp.text(milliseconds)) : .integer(milliseconds)
  }
}

extension BackupEntry {
  private struct Refused: Error {
    let reason: Refusal
  }

  /// The members of a record. A member may be absent or null, but not of another type.
  private struct Fields {
    let record: JSONValue

    func string(_ key: String) throws(Refused) -> String? {
      guard let value = value(key) else { return nil }
      guard let string = value.string else { throw Refused(reason: .malformedRecord) }
      return string
    }

    func bool(_ key: String) throws(Refused) -> Bool? {
      guard let value = value(key) else { return nil }
      guard let bool = value.bool else { throw Refused(reason: .malformedRecord) }
      return bool
    }

    /// Unix milliseconds. A time that must be in another unit is read in that.
    func date(_ key: String) throws(Refused) -> Int64? {
      guard let value = value(key) else { return nil }
      let number = value.integer(in: DeviceMetadata.timeRange.lowerBound...Int64.max)
      guard let date = number.map({ Timestamp.milliseconds(of: $0) }) ?? value.string.flatMap(Timestamp.milliseconds)
      else { throw Refused(reason: .malformedDate) }
      return date
    }

    /// `read` returns nil for an unknown value.
    func choice<Choice>(_ key: String, _ read: (String) -> Choice?) throws(Refused) -> Choice? {
      guard let text = try string(key) else { return nil }
      guard let choice = read(text) else { throw Refused(reason: .malformedRecord) }
      return choice
    }

    func environment() throws(Refused) -> PushEnvironment? {
      try choice("environment", PushEnvironment.init(named:))
    }

    func deviceID() throws(Refused) -> String? {
      try choice("deviceId") { Charset.deviceID.accepts($0) ? $0 : nil }
    }

    /// The Live Activity, or the attributes type, that a token is for. Only tokens of Live Activities have one.
    func activity(_ kind: DeviceKind) throws(Refused) -> String? {
      guard kind.isOfActivities else { return nil }
      let isValid = kind == .activity ? LiveActivity.isID : LiveActivity.isAttributesType
      guard let name = try string("activity"), isValid(name) else { throw Refused(reason: .malformedRecord) }
      return name
    }

    private func value(_ key: String) -> JSONValue? {
      record[key].flatMap { $0 == .null ? nil : $0 }
    }
  }
}

/// The names and limits of a backup file (docs/backup.md):
/// `{"<bundle id>":{"<token>":{"createdAt","updatedAt","username","platform","environment","kind","deviceId",
/// "activity","frequentPushes"}}}`, dates in ISO 8601.
enum BackupFormat {
  /// The section of devices without an app.
  static let noApp = ""

  /// The prefix of sections that are not apps. Bundle ids contain no colon.
  static let reserved = "martlet:"
  static let instances = "martlet:instances"
  static let channels = "martlet:channels"

  /// Includes the quotes.
  static let maximumKeyBytes = 2048
  static let maximumRecordBytes = 16 * 1024

  private static let bundleIDLength = 0...200
  /// 256 characters of four bytes.
  private static let usernameLength = 0...1024

  static func isBundleID(_ text: String) -> Bool {
    bundleIDLength.contains(text.utf8.count)
      && text.utf8.allSatisfy { DeviceToken.contains($0) && $0 != UInt8(ascii: ":") }
  }

  static func isUsername(_ text: String) -> Bool {
    usernameLength.contains(text.utf8.count)
      && !text.unicodeScalars.contains(where: \.isControl)
  }

  /// Returns the device token in `text`, or nil if it is malformed. Old push servers stored the description of the token's data,
  /// `<0a1b2c3d …>`.
  static func token(_ text: String) -> String? {
    let bytes = text.utf8.filter { $0 != UInt8(ascii: "<") && $0 != UInt8(ascii: ">") && $0 != 0x20 }
    return DeviceToken.isWellFormed(bytes) ? String(decoding: bytes, as: UTF8.self) : nil
  }
}
