public import JSON
import EventLoop

/// What a worker knows of the memory of Redis, as a part of its ``WorkerReport``.
public struct MemoryReport: Sendable, Equatable {
  public var stage: MemoryStage
  /// Of the fullest server.
  public var server: ServerMemory
  /// How long the record of an accepted job lives at present.
  public var lifetime: Duration
  /// How long it lives if there is room: MARTLET_RESULT_TTL.
  public var longestLifetime: Duration
  /// Since when the stage is what it is, unix ms; nil while it has always been ``MemoryStage/ample``.
  public var since: Int64?
  /// When Redis was short of memory last, unix ms; nil if it was not since the worker's start.
  public var lastShort: Int64?
  /// Records that were left out since the worker's start.
  public var leftOut: Int64 = 0

  public init(stage: MemoryStage, server: ServerMemory, lifetime: Duration, longestLifetime: Duration) {
    self.stage = stage
    self.server = server
    self.lifetime = lifetime
    self.longestLifetime = longestLifetime
  }

  /// `91 % of 40 MB`; without a limit `12 MB, no limit`.
  public var usage: String {
    guard let maximum = server.maximum else { return "\(MemoryText.bytes(server.used)), no limit" }
    return "\((server.share * 100).integer(in: NumberRange.counts) ?? 0) % of \(MemoryText.bytes(maximum))"
  }

  /// What that means for the records: `records of accepted jobs live 7 min instead of 24 h`. Nil if they live as long as they should.
  public var consequence: String? {
    switch stage {
    case .full: return "nothing is written but jobs"
    case .short: return "accepted jobs leave no record"
    case .ample:
      guard lifetime < longestLifetime else { return nil }
      return "records of accepted jobs live \(MemoryText.duration(lifetime)) instead of "
        + MemoryText.duration(longestLifetime)
    }
  }

  /// `91 % of 40 MB; accepted jobs leave no record`
  public var summary: String { usage + (consequence.map { "; " + $0 } ?? "") }

  /// What an operator should do when Redis is short of memory.
  public static let fix = "raise maxmemory, or find out what fills it: martlet doctor shows it by kind"

  /// Why a job may have no record; nil if memory is not the reason.
  public var absence: String? {
    if let lastShort { return "Redis was short of memory at \(Timestamp.text(lastShort))" }
    guard lifetime < longestLifetime else { return nil }
    return "at present records of accepted jobs live \(MemoryText.duration(lifetime)), as more do not fit into "
      + "MARTLET_RECORD_MEMORY"
  }

  /// The report that matters of those of several workers: that of the latest stage and the shortest lifetime.
  public static func worst(_ reports: some Sequence<MemoryReport>) -> MemoryReport? {
    var worst: MemoryReport?
    for report in reports {
      guard var merged = worst else {
        worst = report
        continue
      }
      if (report.stage, report.server.share) > (merged.stage, merged.server.share) {
        merged.stage = report.stage
        merged.server = report.server
        merged.since = report.since
      }
      merged.lifetime = min(merged.lifetime, report.lifetime)
      merged.longestLifetime = max(merged.longestLifetime, report.longestLifetime)
      merged.lastShort = [merged.lastShort, report.lastShort].compactMap { $0 }.max()
      merged.leftOut += report.leftOut
      worst = merged
    }
    return worst
  }

  public var object: JSONObject {
    [
      "stage": stage.rawValue, "usedBytes": server.used, "maximumBytes": server.maximum,
      "recordSeconds": lifetime.milliseconds / 1000, "longestRecordSeconds": longestLifetime.milliseconds / 1000,
      "since": since, "lastShort": lastShort, "recordsLeftOut": leftOut > 0 ? leftOut : nil,
    ]
  }

  /// Returns nil if `value` is not such a report.
  public init?(_ value: JSONValue) {
    let durations: ClosedRange<Int64> = 0...366 * 86_400
    guard let stage = value["stage"]?.string.flatMap(MemoryStage.init), let used = value["usedBytes"]?.count,
      let lifetime = value["recordSeconds"]?.integer(in: durations),
      let longest = value["longestRecordSeconds"]?.integer(in: durations)
    else { return nil }
    self.init(
      stage: stage,
      server: ServerMemory(
        used: Int64(used), maximum: value["maximumBytes"]?.count.flatMap { $0 > 0 ? Int64($0) : nil }),
      lifetime: .seconds(lifetime), longestLifetime: .seconds(longest))
    since = value["since"]?.time
    lastShort = value["lastShort"]?.time
    leftOut = Int64(value["recordsLeftOut"].present ?? 0)
  }
}

/// Sizes and times in the sentences about memory.
public enum MemoryText {
  /// `40 MB`, `1.5 GB`, in the units of Redis: 1 MB is 1024 KB.
  public static func bytes(_ count: Int64) -> String {
    var (value, unit) = (Double(count), 0)
    let units = ["bytes", "KB", "MB", "GB", "TB"]
    while value >= 1024, unit < units.count - 1 {
      value /= 1024
      unit += 1
    }
    let tenths = (value * 10).rounded().integer(in: NumberRange.counts) ?? 0
    // From 10 on, and without a fraction.
    let isWhole = unit == 0 || tenths >= 100 || tenths % 10 == 0
    return (isWhole ? "\((tenths + 5) / 10)" : "\(tenths / 10).\(tenths % 10)") + " \(units[unit])"
  }

  /// `7 min`, in the largest unit of which there are at least two; hours from 2 h.
  public static func duration(_ duration: Duration) -> String {
    let seconds = duration.milliseconds / 1000
    switch seconds {
    case ..<120: return "\(max(1, seconds)) s"
    case ..<7200: return "\(seconds / 60) min"
    default: return "\(seconds / 3600) h"
    }
  }
}
