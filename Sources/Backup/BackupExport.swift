/// What a backup file was made of.
public struct BackupExport: Sendable, Equatable {
  public package(set) var devices = 0
  public package(set) var instances = 0
  /// Left out, by reason.
  public package(set) var skipped: [String: Int] = [:]

  package init() {}

  package mutating func count(_ entry: BackupEntry) {
    switch entry {
    case .device: devices += 1
    case .instance: instances += 1
    case .refused(let reason): skipped[reason.rawValue, default: 0] += 1
    }
  }
}
