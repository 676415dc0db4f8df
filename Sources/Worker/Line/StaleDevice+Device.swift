import Registry

extension StaleDevice {
  /// A token that APNs calls stale, unless it was registered anew since; nil when nobody owns it.
  init?(_ device: Device, unregisteredSince: Int64?) {
    guard let owner = device.username else { return nil }
    self.init(
      token: device.token, owner: owner, bundleID: device.bundleID, notAfter: unregisteredSince ?? device.updatedAt)
  }
}
