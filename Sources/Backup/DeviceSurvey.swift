import EventLoop
import JSON
import PushModel
import Registry

/// What an import of a file would find, as far as the file alone tells.
public struct DeviceSurvey: Sendable {
  /// Devices that are registered in the same way.
  public struct Group: Sendable, Hashable, Comparable {
    /// Empty: the file names none.
    public let app: String
    /// Nil: it is learned with the first push.
    public let environment: String?
    public let kind: String

    public static func < (left: Group, right: Group) -> Bool {
      (left.app, left.environment ?? "", left.kind) < (right.app, right.environment ?? "", right.kind)
    }
  }

  /// Groups that are told apart. Further ones count as ``others``.
  private static let maximumGroups = 1000
  private static let batch = 1000

  /// Distinct devices.
  public private(set) var valid = 0
  /// Those without an owner.
  public private(set) var anonymous = 0
  /// Further entries of the same devices.
  public private(set) var duplicates = 0
  public private(set) var groups: [Group: Int] = [:]
  /// The devices of groups beyond the limit.
  public private(set) var others = 0
  /// The entries that would be left out, by reason.
  public private(set) var refused: [String: Int] = [:]
  /// The first line with an entry that would be left out, by reason.
  public private(set) var firstLines: [String: Int] = [:]
  /// Hashes, as tokens would need ten times the memory. In a million devices one is taken for another in one of 10^7 files.
  private var tokens: Set<Int> = []
  /// The devices of the limit groups of users, by hashes as well. What a user may have of all groups is not counted.
  private var counts: [Int: Int32] = [:]
  /// A user's, of one limit group.
  private let maximumDevices: Int

  package init(maximumDevices: Int) {
    self.maximumDevices = maximumDevices
  }

  /// Reads a file (`-` is stdin) without Redis.
  @EventLoop
  package static func read(
    _ path: String, _ source: some BackupSource, maximumDevices: Int
  ) async throws(BackupError) -> DeviceSurvey {
    var survey = DeviceSurvey(maximumDevices: maximumDevices)
    let stream = BackupStream(try BackupFile.reading(path), source)
    while let entries = try await stream.next(limit: batch) {
      for (entry, line) in zip(entries, stream.lines) { survey.count(entry, line: line) }
    }
    return survey
  }

  private mutating func refuse(_ reason: BackupEntry.Refusal, line: Int) {
    refused[reason.rawValue, default: 0] += 1
    firstLines.merge([reason.rawValue: line], uniquingKeysWith: min)
  }

  /// Counts the device to its user. False if the user has the maximum of its limit group already.
  private mutating func fits(_ device: DeviceMetadata) -> Bool {
    guard !device.username.isEmpty else { return true }
    var hasher = Hasher()
    hasher.combine(device.username)
    hasher.combine(DeviceLimitGroup(device))
    let group = hasher.finalize()
    guard counts[group, default: 0] < maximumDevices else { return false }
    counts[group, default: 0] += 1
    return true
  }

  package mutating func count(_ entry: BackupEntry, line: Int) {
    switch entry {
    case .refused(let reason): refuse(reason, line: line)
    case .instance, .channel: break
    case .device(let token, let metadata):
      guard tokens.insert(token.hashValue).inserted else {
        duplicates += 1
        return
      }
      guard fits(metadata) else { return refuse(.tooManyDevices, line: line) }
      valid += 1
      if metadata.username.isEmpty { anonymous += 1 }
      let group = Group(
        app: metadata.bundleID ?? "", environment: metadata.environment?.rawValue, kind: metadata.kind.rawValue)
      if groups[group] != nil || groups.count < DeviceSurvey.maximumGroups {
        groups[group, default: 0] += 1
      } else {
        others += 1
      }
    }
  }
}
