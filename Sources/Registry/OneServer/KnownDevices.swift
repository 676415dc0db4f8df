/// The last known state of devices: read, written, or expected once the pending changes are applied.
///
/// Others may have changed a device meanwhile: then Redis refuses a change that was decided on this, and returns what is
/// stored. Redis carries out the changes of a connection in their order, so a change is decided before the one before it
/// is applied; if that is not applied, Redis refuses this one, too, and it is decided again.
struct KnownDevices {
  /// Devices without changes under way that are remembered.
  static let maximumIdle = 1024

  private struct Known {
    var device: StoredDevice
    /// The number of changes under way.
    var changes = 0
    /// Counts what turned out to be wrong.
    var round = 0
  }

  private var known: [String: Known] = [:]
  private var idle = 0

  /// Nil if the device must be read.
  func device(_ token: String) -> StoredDevice? { known[token]?.device }

  /// Nil if no change of the device is under way.
  func changing(_ token: String) -> StoredDevice? { known[token].flatMap { $0.changes > 0 ? $0.device : nil } }

  /// Notes that a device is being changed to `result`. Returns the number for ``end(_:round:found:)``.
  mutating func begin(_ result: StoredDevice) -> Int {
    let former = known[result.token]
    if former?.changes == 0 { idle -= 1 }
    var entry = former ?? Known(device: result)
    entry.device = result
    entry.changes += 1
    known[result.token] = entry
    return entry.round
  }

  /// Notes that a change has ended. `found` is what is stored if the change was not applied, else nil.
  mutating func end(_ token: String, round: Int, found: StoredDevice?) {
    guard var entry = known[token] else { return }
    entry.changes -= 1
    if let found, entry.round == round {
      entry.device = found
      entry.round += 1
    }
    known[token] = entry
    guard entry.changes == 0 else { return }
    idle += 1
    guard idle > KnownDevices.maximumIdle else { return }
    known = known.filter { $0.value.changes > 0 }
    idle = 0
  }
}
