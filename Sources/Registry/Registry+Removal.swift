import Redis

extension Registry {
  /// Forgets a token that APNs calls stale: one atomic compare-and-delete. It stays when it has another owner by now, or when
  /// it was registered after `notAfter` (unix ms).
  public func removeStale(_ device: Device, notAfter: Int64) {
    guard let metadata = device.metadata, !metadata.username.isEmpty else { return }
    let keys = [
      RegistryKeys.token(device.token), RegistryKeys.userTokens(metadata.username),
      RegistryKeys.audience(metadata.bundleID ?? "", of: device.token),
    ]
    connection.call(RegistryScripts.removeStale, keys: keys) { command in
      command.append(device.token)
      command.append(metadata.username)
      command.append(notAfter)
    } _: { _ in }
  }
}
