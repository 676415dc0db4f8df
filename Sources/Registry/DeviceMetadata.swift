public import PushModel
import JSON

/// The data of a device, stored under `push:token:<token>`.
public struct DeviceMetadata: Sendable, Equatable {
  /// Empty for an anonymous device, which is only in its app's audience.
  public var username: Username
  public var platform: Platform
  /// Unix milliseconds.
  public var updatedAt: Int64
  public var bundleID: String?
  /// Nil if it is unknown.
  public var environment: PushEnvironment?
  /// Unix milliseconds.
  public var createdAt: Int64?
  public var kind: DeviceKind
  /// The phone, if the app names it: its tokens have the same owner.
  public var deviceID: String?
  /// Of an update token the id of its Live Activity, of a push-to-start token its attributes type, of other tokens nil.
  public var activity: String?
  /// Whether the user lets the app update its Live Activities often; nil if the app does not say.
  public var frequentPushes: Bool?
  /// The username as it was stored, if that was another form of it. It is never written.
  package internal(set) var storedName: ExactText?
  /// The former tokens of the phone that this one has replaced.
  public var replaced = ReplacedMarks()
  /// The reach with which no environment that could be asked knew the token: nothing is sent to it from there. Nil if none was
  /// found so.
  public var unreachable: Int64?

  public init(
    username: Username, platform: Platform, updatedAt: Int64, bundleID: String? = nil,
    environment: PushEnvironment? = nil, createdAt: Int64? = nil, kind: DeviceKind = .app, deviceID: String? = nil,
    activity: String? = nil, frequentPushes: Bool? = nil
  ) {
    self.username = username
    self.platform = platform
    self.updatedAt = updatedAt
    self.bundleID = bundleID
    self.environment = environment
    self.createdAt = createdAt
    self.kind = kind
    self.deviceID = deviceID
    self.activity = activity
    self.frequentPushes = frequentPushes
  }

  /// The raw value is the index in ``keys``, so that keys are not compared as text.
  private enum Key: Int, CaseIterable {
    case username, platform, updatedAt, bundleId, environment, createdAt, kind, deviceId, activity, frequentPushes,
      replaced, unreachable
  }

  private static let keys = JSONKeys(Key.allCases.map { "\($0)" })

  /// Returns nil if `bytes` is not an object with a username, which may be empty.
  ///
  /// Other programs write such records too, so unknown members and members of the wrong type are ignored.
  public init?(parsing bytes: [UInt8]) {
    var metadata = DeviceMetadata(username: "", platform: .ios, updatedAt: 0)
    var hasUsername = false
    do {
      var reader = JSONReader(bytes)
      try reader.beginObject()
      while let key = try reader.nextKey(among: DeviceMetadata.keys) {
        if try metadata.read(key, from: &reader) == .username { hasUsername = true }
      }
      try reader.end()
    } catch {
      return nil
    }
    guard hasUsername else { return nil }
    self = metadata
  }

  /// Reads the value of `key`. Returns nil if it was ignored.
  private mutating func read(_ key: JSONKey, from reader: inout JSONReader) throws(JSONError) -> Key? {
    guard case .known(let number) = key, let known = Key(rawValue: number) else {
      try reader.skipValue()
      return nil
    }
    switch (known, try reader.peek()) {
    case (.username, .string):
      let name = try reader.readString()
      username = Username(name)
      if !username.text.hasSameBytes(as: name) { storedName = ExactText(name) }
    case (.platform, .string): platform = Platform(rawValue: try reader.readString()) ?? .ios
    case (.bundleId, .string): bundleID = try reader.readString()
    case (.environment, .string): environment = PushEnvironment(named: try reader.readString())
    case (.kind, .string): kind = DeviceKind(rawValue: try reader.readString()) ?? .app
    case (.deviceId, .string): deviceID = try reader.readString()
    case (.activity, .string): activity = try reader.readString()
    case (.replaced, .string): replaced = ReplacedMarks(stored: try reader.readString())
    case (.unreachable, .number): unreachable = try reader.readDouble().integer(in: NumberRange.counts)
    case (.frequentPushes, .bool): frequentPushes = try reader.readBool()
    case (.updatedAt, .number): updatedAt = try DeviceMetadata.milliseconds(from: &reader) ?? 0
    case (.createdAt, .number): createdAt = try DeviceMetadata.milliseconds(from: &reader)
    default:
      try reader.skipValue()
      return nil
    }
    return known
  }

  /// Of a time, which may be another program's.
  package static let timeRange: ClosedRange<Int64> = -9_000_000_000_000_000 + 1...9_000_000_000_000_000 - 1

  /// Rounds towards zero. Returns nil for a number that cannot be a time. Martlet 2.0 has stored what other programs gave in
  /// microseconds as it came.
  private static func milliseconds(from reader: inout JSONReader) throws(JSONError) -> Int64? {
    do {
      return try reader.readDouble().integer(in: timeRange).map {
        $0 < Timestamp.firstMicroseconds ? $0 : Timestamp.milliseconds(of: $0)
      }
    } catch {
      guard case .numberOutOfRange = error else { throw error }
      return nil
    }
  }

  public func json() -> [UInt8] {
    var writer = JSONWriter(capacity: 192)
    writer.beginObject()
    writer.member("username", username.text)
    writer.member("platform", platform.rawValue)
    writer.member("updatedAt", updatedAt)
    writer.member("bundleId", bundleID)
    writer.member("environment", environment?.rawValue)
    writer.member("createdAt", createdAt)
    writer.member("kind", kind == .app ? nil : kind.rawValue)
    writer.member("deviceId", deviceID)
    writer.member("activity", activity)
    writer.member("frequentPushes", frequentPushes)
    writer.member("unreachable", unreachable)
    writer.member("replaced", replaced.isEmpty ? nil : replaced.text)
    writer.endObject()
    return writer.bytes
  }
}
