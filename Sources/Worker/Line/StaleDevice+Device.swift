import Registry

extension StaleDevice {
  /// A token that APNs calls stale, unless it was registered anew since. A device of nobody stands in its app's audience; nil
  /// when it stands nowhere.
  init?(_ device: Device, unregisteredSince: Int64?) {
    guard device.username != nil || device.bundleID != nil else { return nil }
    self.init(
      token: device.token, owner: device.username ?? "", bundleID: device.bundleID,
      notAfter: unregisteredSince ?? device.updatedAt)
  }
}
