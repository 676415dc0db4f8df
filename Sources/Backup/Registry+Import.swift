import EventLoop
import JSON
import Redis
import Registry

extension Registry {
  /// The number of entries that are written together.
  private static let importBatch = 1000

  /// Imports a file (`-` is stdin): a backup, unless `source` reads another one. A record in Redis that is at least as new as its
  /// entry stays, so the import can be interrupted and repeated. `onProgress` receives the summary so far.
  @discardableResult
  package func importBackup(
    path: String, _ source: some BackupSource = BackupReader(),
    onProgress: @EventLoop (BackupSummary) -> Void = { _ in }
  ) async throws(BackupFailure) -> BackupSummary {
    var done = BackupSummary()
    do throws(BackupError) {
      let stream = BackupStream(try BackupFile.reading(path), source)
      while let entries = try await stream.next(limit: Registry.importBatch) {
        done += try await wrappingFaults(await restore(entries, lines: stream.lines))
        onProgress(done)
      }
    } catch {
      throw BackupFailure(cause: error, done: done)
    }
    return done
  }
}

/// The numbers of imported entries, by their effect.
public struct BackupSummary: Sendable, Equatable {
  /// Entries that did not exist before.
  public package(set) var created = 0
  /// Entries that replaced an older record, or gave an equally new one its app.
  public package(set) var updated = 0
  /// Entries whose record in Redis is at least as new, or has an owner while the entry does not.
  public package(set) var kept = 0
  /// Devices of iOS whose text is no token of APNs, among those of a backup, which is restored as it is: nothing is sent to them.
  public package(set) var notOfAPNs = 0
  /// Entries that were left out, by reason.
  public package(set) var refused: [String: Int] = [:]
  /// The first line with an entry that was left out, by reason.
  public package(set) var firstLines: [String: Int] = [:]

  public var total: Int { created + updated + kept + refused.values.reduce(0, +) }

  package mutating func refuse(_ reason: BackupEntry.Refusal, line: Int? = nil) {
    refused[reason.rawValue, default: 0] += 1
    if let line { firstLines.merge([reason.rawValue: line], uniquingKeysWith: min) }
  }

  package static func += (sum: inout BackupSummary, other: BackupSummary) {
    sum.created += other.created
    sum.updated += other.updated
    sum.kept += other.kept
    sum.notOfAPNs += other.notOfAPNs
    sum.refused.merge(other.refused, uniquingKeysWith: +)
    sum.firstLines.merge(other.firstLines, uniquingKeysWith: min)
  }
}
