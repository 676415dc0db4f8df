public import PushModel
import JSON

/// What is stored about a device under `push:token:<token>`.
public struct DeviceMetadata: Sendable, Equatable {
  /// Empty: nobody's; the device stands in its app's audience alone.
  public var username: String
  public var platform: Platform
  /// Unix milliseconds.
  public var updatedAt: Int64
  public var bundleID: String?
  /// Nil: the configured one.
  public var environment: PushEnvironment?
  /// Unix milliseconds.
  public var createdAt: Int64?

  public init(
    username: String, platform: Platform, updatedAt: Int64, bundleID: String? = nil,
    environment: PushEnvironment? = nil, createdAt: Int64? = nil
  ) {
    self.username = username
    self.platform = platform
    self.updatedAt = updatedAt
    self.bundleID = bundleID
    self.environment = environment
    self.createdAt = createdAt
  }

  /// By their places among ``keys``: nothing is compared as text.
  private enum Key: Int, CaseIterable {
    case username, platform, updatedAt, bundleId, environment, createdAt
  }

  private static let keys = JSONKeys(Key.allCases.map { "\($0)" })

  /// Other programs write these records too: only an object with a username, be it empty, is asked for, and of the rest
  /// what is not understood is left out. Nil when it is none.
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

  /// Tells which key was understood.
  private mutating func read(_ key: JSONKey, from reader: inout JSONReader) throws(JSONError) -> Key? {
    guard case .known(let number) = key, let known = Key(rawValue: number) else {
      try reader.skipValue()
      return nil
    }
    switch (known, try reader.peek()) {
    case (.username, .string): username = Username.normalized(try reader.readString())
    case (.platform, .string): platform = Platform(rawValue: try reader.readString()) ?? .ios
    case (.bundleId, .string): bundleID = try reader.readString()
    case (.environment, .string): environment = PushEnvironment(rawValue: try reader.readString())
    case (.updatedAt, .number): updatedAt = try DeviceMetadata.milliseconds(from: &reader)
    case (.createdAt, .number): createdAt = try DeviceMetadata.milliseconds(from: &reader)
    default:
      try reader.skipValue()
      return nil
    }
    return known
  }

  /// A time with a fraction loses it; what is no time is 0.
  private static func milliseconds(from reader: inout JSONReader) throws(JSONError) -> Int64 {
    let number = try reader.readDouble()
    return abs(number) < 9e15 ? Int64(number) : 0
  }

  public func json() -> [UInt8] {
    var json = JSONWriter(capacity: 192)
    json.beginObject()
    json.key("username")
    json.string(username)
    json.key("platform")
    json.string(platform.rawValue)
    json.key("updatedAt")
    json.integer(updatedAt)
    if let bundleID {
      json.key("bundleId")
      json.string(bundleID)
    }
    if let environment {
      json.key("environment")
      json.string(environment.rawValue)
    }
    if let createdAt {
      json.key("createdAt")
      json.integer(createdAt)
    }
    json.endObject()
    return json.bytes
  }
}
