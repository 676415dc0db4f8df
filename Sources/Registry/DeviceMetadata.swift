import JSON

/// What the registry knows of a token: whose it is, and what it was registered for.
public struct DeviceMetadata: Sendable, Equatable {
  public enum Platform: String, Sendable {
    case ios, android
  }

  public var username: String
  public var platform: Platform
  /// Unix ms of the last registration.
  public var updatedAt: Int64
  public var bundleID: String?
  /// `production` or `sandbox`.
  public var environment: String?
  /// Unix ms of the first one.
  public var createdAt: Int64?

  public init(
    username: String, platform: Platform, updatedAt: Int64, bundleID: String? = nil, environment: String? = nil,
    createdAt: Int64? = nil
  ) {
    self.username = username
    self.platform = platform
    self.updatedAt = updatedAt
    self.bundleID = bundleID
    self.environment = environment
    self.createdAt = createdAt
  }

  /// Nil for bytes that are no metadata. Unknown fields are somebody else's and ignored.
  public init?(json bytes: [UInt8]) {
    guard let value = try? JSONValue(parsing: bytes), let username = value["username"]?.string else { return nil }
    self.init(
      username: username, platform: Platform(rawValue: value["platform"]?.string ?? "ios") ?? .ios,
      updatedAt: value["updatedAt"]?.integer ?? 0, bundleID: value["bundleId"]?.string,
      environment: value["environment"]?.string, createdAt: value["createdAt"]?.integer)
  }

  public func json() -> [UInt8] {
    var writer = JSONWriter(capacity: 200)
    writer.beginObject()
    writer.key("username")
    writer.string(username)
    writer.key("platform")
    writer.string(platform.rawValue)
    writer.key("updatedAt")
    writer.integer(updatedAt)
    if let bundleID {
      writer.key("bundleId")
      writer.string(bundleID)
    }
    if let environment {
      writer.key("environment")
      writer.string(environment)
    }
    if let createdAt {
      writer.key("createdAt")
      writer.integer(createdAt)
    }
    writer.endObject()
    return writer.bytes
  }
}
