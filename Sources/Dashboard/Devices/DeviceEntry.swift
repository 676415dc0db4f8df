import Crypto
import Operations
import PushModel
import Registry
import Telemetry

/// A device on the page of devices, with what is known of its last push.
struct DeviceEntry: Sendable, Equatable {
  let device: Device
  /// The last answer of APNs that was not an acceptance; nil if there was none in the last days.
  let refusal: RefusalNote?
  /// The instance whose device it is; nil for another device.
  let instance: String?
  /// False for a device of an instance that must register again.
  let isActive: Bool

  /// Returns nil for an entry that is no device.
  init?(_ facts: DeviceFacts) {
    guard let metadata = facts.metadata else { return nil }
    device = Device(entry: facts.token, metadata: metadata)
    refusal = facts.refusal
    instance = facts.instance
    isActive = !facts.isStale
  }

  /// Names a device in a form, so that the page contains no token.
  static func reference(to token: DeviceToken) -> String { String(SHA256.hex(token.text).prefix(32)) }

  /// As the audit log names it: `device 740f4707… of user alice`.
  func subject(_ query: InspectedAddressee) -> String {
    let name = "device \(Log.shortened(device.token.text))"
    guard case .token = query else { return "\(name) of \(query.subject)" }
    return device.username.map { "\(name) of user \($0)" } ?? instance.map { "\(name) of instance \($0)" } ?? name
  }

  var reference: String { DeviceEntry.reference(to: device.token) }
}
