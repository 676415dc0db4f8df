/// What became of the entries of a backup.
public struct BackupSummary: Sendable, Equatable {
  /// Were not there before.
  public package(set) var created = 0
  /// Replaced an older record.
  public package(set) var updated = 0
  /// What was there is as new, or newer, or has an owner where the entry has none.
  public package(set) var kept = 0
  /// Left out, by reason.
  public package(set) var refused: [String: Int] = [:]

  public init() {}

  public var total: Int { created + updated + kept + refused.values.reduce(0, +) }

  package mutating func refuse(_ reason: BackupEntry.Refusal) {
    refused[reason.rawValue, default: 0] += 1
  }

  package static func += (sum: inout BackupSummary, other: BackupSummary) {
    sum.created += other.created
    sum.updated += other.updated
    sum.kept += other.kept
    sum.refused.merge(other.refused, uniquingKeysWith: +)
  }
}
