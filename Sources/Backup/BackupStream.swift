import EventLoop
import JSON

/// The entries of a file, a batch at a time.
@EventLoop
final class BackupStream<Source: BackupSource> {
  private let file: BackupFile
  private var source: Source
  private var fault: JSONWindow.Fault?
  private var isAtEnd = false

  init(_ file: BackupFile, _ source: Source) {
    self.file = file
    self.source = source
  }

  /// Up to `limit` entries; nil after the last. What is wrong with the file is thrown behind the entries before it.
  func next(limit: Int) async throws(BackupError) -> [BackupEntry]? {
    var batch: [BackupEntry] = []
    while batch.count < limit {
      if let fault {
        guard batch.isEmpty else { return batch }
        throw .format(fault)
      }
      do throws(JSONWindow.Fault) {
        if let entry = try source.next() {
          batch.append(entry)
          continue
        }
      } catch {
        fault = error
        continue
      }
      guard !isAtEnd else { return batch.isEmpty ? nil : batch }
      let chunk = try await file.read()
      isAtEnd = chunk.isEmpty
      if isAtEnd { source.close() } else { source.append(chunk) }
    }
    return batch
  }
}
