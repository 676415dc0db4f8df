/// The Redis keys of a backup file's import.
enum BackupKeys {
  /// String: whether backup.json was brought in, ``ImportClaim``.
  static let backupState = "martlet:{backup}:state"

  /// String with a TTL: who brings it in now.
  static let backupLease = "martlet:{backup}:lease"
}
