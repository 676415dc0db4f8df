import Registry

/// A device to be restored, and who is thought to have had it before.
struct Restoring: Sendable {
  let token: String
  let metadata: DeviceMetadata
  var previousOwner = ""
  var previousApp = ""
  /// The user had as many devices as allowed when it was last tried.
  var isSurplus = false

  /// In the order of ``BackupScripts/restore``.
  var keys: [String] {
    let shard = AudienceShard.shard(of: token)
    return [
      RegistryKeys.token(token), RegistryKeys.userTokens(metadata.username),
      RegistryKeys.audience(metadata.bundleID ?? "", shard: shard), RegistryKeys.userTokens(previousOwner),
      RegistryKeys.audience(previousApp, shard: shard),
    ]
  }
}
