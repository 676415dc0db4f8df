public import Registry
import EventLoop
import JSON
import Redis

extension Registry {
  /// Entries read before they are written together.
  private static let importBatch = 1000

  /// Puts a backup file (`-`: stdin) into the registry. Entries that are as new already stay; it may be interrupted and
  /// repeated. `onProgress` is told what has been done so far.
  @discardableResult
  public func importBackup(
    path: String, onProgress: @EventLoop (BackupSummary) -> Void = { _ in }
  ) async throws(BackupFailure) -> BackupSummary {
    try await importEntries(path: path, BackupReader(), onProgress: onProgress)
  }

  /// The same for an export of Parse's `_Installation`, of these apps.
  @discardableResult
  public func importInstallations(
    path: String, bundleIDs: Set<String>, onProgress: @EventLoop (BackupSummary) -> Void = { _ in }
  ) async throws(BackupFailure) -> BackupSummary {
    try await importEntries(path: path, InstallationReader(bundleIDs: bundleIDs), onProgress: onProgress)
  }

  private func importEntries(
    path: String, _ source: some BackupSource, onProgress: @EventLoop (BackupSummary) -> Void
  ) async throws(BackupFailure) -> BackupSummary {
    var done = BackupSummary()
    do throws(BackupError) {
      let stream = BackupStream(try BackupFile.reading(path), source)
      while let entries = try await stream.next(limit: Registry.importBatch) {
        done += try await restored(entries)
        onProgress(done)
      }
    } catch {
      throw BackupFailure(cause: error, done: done)
    }
    return done
  }

  private func restored(_ entries: [BackupEntry]) async throws(BackupError) -> BackupSummary {
    do throws(RedisError) {
      return try await restore(entries)
    } catch {
      throw .redis(error)
    }
  }
}
