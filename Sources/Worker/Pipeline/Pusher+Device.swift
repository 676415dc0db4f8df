import Jobs
import Registry

extension Pusher {
  /// The device as the push gateway knows it, unless it is registered.
  func device(_ device: Device) -> Device {
    device.kind == nil ? Device(token: device.token, environment: environment) : device
  }
}
