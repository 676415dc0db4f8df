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

    /// Nil if nothing has changed but the time of the registration.
    func event(at now: Int64) -> Event? {
      removal.map { .removed(device, reason: $0, at: now) } ?? .change(of: device, from: before, at: now)
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
  var newOwner: String?
  /// Whether Redis must accept the change also when it is full, because something is removed or replaced.
  var isForced = false

  static let nothing = DeviceChange()

  /// The stored device after the change of `stored`.
  func result(from stored: StoredDevice) -> StoredDevice {
    switch record {
    case .kept: stored
    case .deleted: StoredDevice(stored.token, written: nil)
    case .written(let metadata): StoredDevice(stored.token, written: metadata)
    }
  }
}

extension EventDevice {
  init(_ token: String, _ metadata: DeviceMetadata) {
    self.init(
      token: token, user: metadata.username, app: metadata.bundleID, environment: metadata.environment?.rawValue,
      platform: metadata.platform.rawValue)
  }
}
