import EventLoop
import Redis
public import Registry

extension Registry {
  /// Writes every device, every instance and every channel, but no credentials, to a backup file with mode 0600 (`-` is stdout).
  ///
  /// The file gets its name when it is complete. A token that changes meanwhile can be in it twice or not at all. Throws
  /// if slots of a cluster move to other servers meanwhile, because the keys in them can be missed.
  public func exportBackup(
    path: String, onProgress: @EventLoop (BackupExport) -> Void = { _ in }
  ) async throws(BackupError) -> BackupExport {
    var export = BackupExport()
    try await BackupSpool.written(to: path) { spool throws(BackupError) in
      for (prefix, entry) in Registry.exported {
        try await scan(prefix) { page throws(BackupError) in
          for (key, value) in page {
            guard let entry = entry(key, value) else { continue }
            export.count(entry)
            try await spool.add(entry)
          }
          onProgress(export)
        }
      }
    }
    return export
  }

  /// The prefix of keys, and what an entry is made of: the rest of the key, and the value.
  private static let exported: [(prefix: String, entry: @Sendable ([UInt8], [UInt8]?) -> BackupEntry?)] = [
    (RegistryKeys.tokens, { BackupEntry(storedToken: $0, metadata: $1) }),
    (RegistryKeys.instance(""), { BackupEntry(storedInstance: $0, record: $1) }),
    (RegistryKeys.channels, { BackupEntry(storedChannel: $0, record: $1) }),
  ]

  /// Calls `body` for each page of the strings whose key starts with `prefix`, with the rest of the key and the value.
  private func scan(
    _ prefix: String, _ body: ([([UInt8], [UInt8]?)]) async throws(BackupError) -> Void
  ) async throws(BackupError) {
    let (changes, slots) = (connection.topologyChanges, await SlotAssignment.read(connection))
    for server in 0..<connection.serverCount {
      var cursor = "0"
      repeat {
        let page = try await wrappingFaults(await connection.page(ofStrings: prefix, server: server, from: cursor))
        try await body(page.entries.map { key, value in (Array(key.dropFirst(prefix.utf8.count)), value) })
        cursor = page.next
        guard connection.topologyChanges == changes else { throw Registry.movedWhileExporting }
      } while cursor != "0"
    }
    guard !slots.isChanging, await SlotAssignment.read(connection) == slots else { throw Registry.movedWhileExporting }
  }

  private static let movedWhileExporting = BackupError.redis(
    .notSent(
      "slots of the cluster moved to other servers while the devices were read, so some would be missing; "
        + "export again when the cluster is not being changed"))
}

/// The numbers of entries in a backup file that was written.
public struct BackupExport: Sendable, Equatable {
  public package(set) var devices = 0
  public package(set) var instances = 0
  public package(set) var channels = 0
  /// The entries that were left out, by reason.
  public package(set) var skipped: [String: Int] = [:]

  package mutating func count(_ entry: BackupEntry) {
    switch entry {
    case .device: devices += 1
    case .instance: instances += 1
    case .channel: channels += 1
    case .refused(let reason): skipped[reason.rawValue, default: 0] += 1
    }
  }
}
