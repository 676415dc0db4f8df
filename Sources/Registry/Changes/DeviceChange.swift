import Events
import PushModel

/// What becomes of a device: of its metadata, of the sets that contain its token, and what is told about it.
struct DeviceChange: Sendable, Equatable {
  enum Record: Sendable, Equatable {
    case kept, deleted
    case written(DeviceMetadata)
  }

  /// What an event tells.
  struct Report: Sendable, Equatable {
    let device: EventDevice
    /// The device before; nil if it was not registered, or if it is removed.
    var before: EventDevice?
    /// Why the device is removed; nil if it is registered.
    var removal: String?
    /// Whether APNs has contradicted the environment that was registered.
    var isCorrection = false

    /// Nil if nothing has changed but the time of the registration.
    func event(at now: Int64) -> Event? {
      if isCorrection { return .corrected(device, from: before?.environment, at: now) }
      return removal.map { .removed(device, reason: $0, at: now) } ?? .change(of: device, from: before, at: now)
    }
  }

  var record = Record.kept
  /// The sets that contain the token afterwards.
  var joined: [DeviceSet] = []
  /// The sets that do not contain the token afterwards.
  var left: [DeviceSet] = []
  var report: Report?
  /// Whether nothing is to be done unless the token is in the first set of `left`.
  var requiresEntry = false
  /// The user who has one device more of an app afterwards, so that others may have to make room.
  var newOwner: Username?
  /// Whether Redis must accept the change also when it is full, because something is removed or replaced.
  var isForced = false
  /// Whether the metadata expires when that before would have: the device was not registered again.
  var keepsLifetime = false
  /// Whether nothing becomes of the device because it is of an app that the credential is not for.
  var isForeign = false

  static let nothing = DeviceChange()
  static let foreign = DeviceChange(isForeign: true)

  /// The lifetime of metadata that is written.
  var lifetime: RecordLifetime {
    guard case .written(let metadata) = record, !keepsLifetime else { return .kept }
    return .seconds(metadata.kind.lifetime)
  }

  /// The stored device after the change of `stored`.
  func result(from stored: StoredDevice) -> StoredDevice {
    switch record {
    case .kept: stored
    case .deleted: StoredDevice(stored.token, written: nil)
    case .written(let metadata): StoredDevice(stored.token, written: metadata)
    }
  }
}

/// When a record that is written expires.
enum RecordLifetime: Sendable, Equatable {
  case unlimited
  /// As the record before.
  case kept
  case seconds(Int)

  /// As scripts take it.
  var text: String {
    switch self {
    case .unlimited: ""
    case .kept: "KEEPTTL"
    case .seconds(let seconds): String(seconds)
    }
  }
}

extension EventDevice {
  init(_ token: String, _ metadata: DeviceMetadata) {
    self.init(
      token: token, user: metadata.username.text, app: metadata.bundleID, environment: metadata.environment?.rawValue,
      platform: metadata.platform.rawValue, kind: metadata.kind == .app ? nil : metadata.kind.rawValue,
      deviceID: metadata.deviceID, activity: metadata.activity)
  }
}
