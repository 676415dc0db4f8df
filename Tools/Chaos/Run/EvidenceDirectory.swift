import EventLoop
import FoundationEssentials

/// Where the evidence of runs with a broken invariant is kept: a directory for each run, `<UTC time>-<seed>-<faults>`, with
/// `-cluster` on a cluster. The names sort by age.
struct EvidenceDirectory {
  /// Directories of earlier runs that stay.
  static let kept = 19

  let parent: String

  /// Makes the directory of a run, and deletes the oldest ones. Returns its path.
  func make(for plan: Plan, at time: Date = .now) throws -> String {
    let files = FileManager.default
    try files.createDirectory(atPath: parent, withIntermediateDirectories: true)
    for name in EvidenceDirectory.surplus(try files.contentsOfDirectory(atPath: parent)) {
      try files.removeItem(atPath: "\(parent)/\(name)")
    }
    let name = EvidenceDirectory.name(of: plan, at: time)
    // Of a run that ended in the same second.
    let names = [name] + (2...9).map { "\(name)-\($0)" }
    let place = "\(parent)/\(names.first { !files.fileExists(atPath: "\(parent)/\($0)") } ?? name)"
    try files.createDirectory(atPath: place, withIntermediateDirectories: false)
    return place
  }

  static func name(of plan: Plan, at time: Date) -> String {
    let format = Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted)
    let layout = plan.layout == .cluster ? "-cluster" : ""
    return "\(time.formatted(format))-\(plan.seed)-\(plan.steps.count)\(layout)"
  }

  /// The names of the directories that are too many, the oldest ones.
  static func surplus(_ names: [String]) -> [String] {
    // Nothing that a run has not made.
    let own = names.filter { $0.wholeMatch(of: /\d{8}T\d{6}Z-\d+-\d+.*/) != nil }
    return Array(own.sorted().dropLast(kept))
  }
}
