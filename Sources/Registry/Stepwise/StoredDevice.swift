import JSON
import PushModel
import Redis

/// What the key of a token's metadata holds.
struct StoredDevice: Sendable, Equatable {
  static let absent = StoredDevice(bytes: [], metadata: nil, exists: false)

  /// The metadata as it is stored; empty if there is none, or if the key has another type.
  let bytes: [UInt8]
  /// Nil if there is none or it cannot be read.
  let metadata: DeviceMetadata?
  let exists: Bool
  /// Unix milliseconds of the first registration, or of the latest if that is not stored; nil if neither is a number.
  let firstAt: Int64?

  init(bytes: [UInt8], metadata: DeviceMetadata?, exists: Bool = true, firstAt: Int64? = nil) {
    self.bytes = bytes
    self.metadata = metadata
    self.exists = exists
    self.firstAt = firstAt ?? metadata?.createdAt ?? metadata?.updatedAt
  }

  /// The device as it is after `metadata` was written.
  init(written metadata: DeviceMetadata?) {
    self = metadata.map { StoredDevice(bytes: $0.json(), metadata: $0) } ?? .absent
  }

  /// Parses the reply of ``StepScripts/view``. Returns nil if it is malformed.
  init?(_ reply: RedisValue) {
    guard let parts = reply.array, parts.count == 10, let bytes = parts[0].bytes else { return nil }
    let texts = parts.map { $0.string ?? "" }
    self.init(bytes: bytes, metadata: nil, exists: parts[1].integer == 1)
    guard parts[2].integer == 1 else { return }
    let app = texts[4]
    let metadata = DeviceMetadata(
      username: texts[3], platform: Platform(rawValue: texts[5]) ?? .ios,
      updatedAt: texts[7].isEmpty ? 0 : StoredDevice.time(texts[7]) ?? .max, bundleID: app.isEmpty ? nil : app,
      environment: PushEnvironment(rawValue: texts[6]), createdAt: StoredDevice.time(texts[8]))
    self.init(bytes: bytes, metadata: metadata, firstAt: StoredDevice.time(texts[9]) ?? .min)
  }

  /// Rounds towards zero. Returns nil for a number that cannot be a time; as the last registration that is later than any.
  private static func time(_ text: String) -> Int64? {
    text.number(in: -Double.infinity...Double.infinity)?.integer(in: DeviceMetadata.timeRange)
  }

  /// The metadata of the device after its token was replaced; nil if there is none.
  func exchanged(at now: Int64) -> DeviceMetadata? {
    guard var metadata else { return nil }
    metadata.updatedAt = now
    metadata.createdAt = firstAt == .min ? now : firstAt
    return metadata
  }

  var owner: String { metadata?.username ?? "" }
  var app: String { metadata?.bundleID ?? "" }
  var places: [DeviceSet] { metadata?.places ?? [] }
}
