public import EventLoop
import JSON
import PushModel

/// Converts an export of Parse's `_Installation` into a backup file, without Redis.
@EventLoop
public enum Migration {
  /// The number of installations read at a time.
  private static let batch = 1000

  /// Reads `source` (`-` is stdin) and writes `destination` (`-` is stdout). Includes only iOS devices of these apps.
  public static func convert(
    _ source: String, to destination: String, bundleIDs: Set<String>,
    onProgress: @EventLoop (BackupExport) -> Void = { _ in }
  ) async throws(BackupError) -> BackupExport {
    var export = BackupExport()
    let stream = BackupStream(try BackupFile.reading(source), ObjectListReader(.parse(of: bundleIDs)))
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

extension ObjectListReader.Form {
  /// An export of Parse's `_Installation`, of which only the devices of these apps are accepted.
  package static func parse(of bundleIDs: Set<String>) -> Self {
    Self(wrapper: "\"results\"", list: "an export of _Installation", element: "an installation") {
      [BackupEntry(installation: $0, of: bundleIDs)]
    }
  }
}

extension BackupEntry {
  /// Reads a record of Parse's `_Installation`. Accepts only iOS devices of `bundleIDs`, as anonymous devices.
  init(installation record: JSONValue, of bundleIDs: Set<String>) {
    guard let app = record["appIdentifier"]?.string, bundleIDs.contains(app) else {
      self = .refused(.otherApp)
      return
    }
    guard record["deviceType"]?.string == "ios" else {
      self = .refused(.otherPlatform)
      return
    }
    guard let token = record["deviceToken"]?.string, !AbsentValue.isInTable(token) else {
      self = .refused(.noToken)
      return
    }
    var members: [JSONMember] = []
    for key in ["createdAt", "updatedAt"] {
      if let date = record[key] { members.append(JSONMember(key: key, value: date["iso"] ?? date)) }
    }
    self.init(app: app, foreignToken: token, record: .object(members))
  }
}
