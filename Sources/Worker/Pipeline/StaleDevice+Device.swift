import EventLoop
import Registry

extension StaleDevice {
  /// A token that APNs calls stale, unless it was registered anew since. A device of nobody stands in its app's audience; nil
  /// when it stands nowhere.
  init?(_ device: Device, unregisteredSince: Int64?) {
    guard device.username != nil || device.bundleID != nil else { return nil }
    self.init(
      token: device.token, owner: device.username ?? "", bundleID: device.bundleID,
      notAfter: device.latestStale(unregisteredSince))
  }
}

extension Device {
  /// The latest registration that APNs' answer speaks of, unix ms: without a time, or with one that has not come yet, the one
  /// that was sent to.
  func latestStale(_ unregisteredSince: Int64?) -> Int64 {
    guard let since = unregisteredSince, since <= Clock.unixMilliseconds else { return updatedAt }
    return since
  }
}
