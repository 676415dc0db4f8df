public import EventLoop

/// Makes a backup file of an export of Parse's `_Installation`; redis has no part in it.
@EventLoop
public enum Migration {
  /// Installations read at a time.
  private static let batch = 1000

  /// Reads `source` (`-`: stdin), writes `destination` (`-`: stdout); only iOS devices of these apps are taken.
  public static func convert(
    _ source: String, to destination: String, bundleIDs: Set<String>,
    onProgress: @EventLoop (BackupExport) -> Void = { _ in }
  ) async throws(BackupError) -> BackupExport {
    var export = BackupExport()
    let stream = BackupStream(try BackupFile.reading(source), InstallationReader(bundleIDs: bundleIDs))
    try await BackupSpool.written(to: destination) { spool throws(BackupError) in
      while let entries = try await stream.next(limit: batch) {
        for entry in entries {
          export.count(entry)
          try await spool.add(entry)
        }
        onProgress(export)
      }
    }
    return export
  }
}
