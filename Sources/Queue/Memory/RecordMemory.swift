import EventLoop
import JSON

/// How much of Redis the records of accepted jobs may take: the setting `MARTLET_RECORD_MEMORY`.
public enum RecordMemory: Sendable, Equatable {
  /// A share of the memory that a server may use, above 0 and at most 1.
  case share(Double)
  /// Bytes of each server.
  case bytes(Int64)
  /// As much as they need. When Redis is short of memory they still make room.
  case unlimited

  public static let standard = RecordMemory.share(0.25)

  /// What they may take of a server, in bytes; nil for any amount, also if it is not known what the server has.
  func budget(of server: ServerMemory) -> Double? {
    switch self {
    case .share(let share): server.size.map { Double($0) * share }
    case .bytes(let bytes): Double(bytes)
    case .unlimited: nil
    }
  }
}

/// How long the record of an accepted job lives, so that all of them fit into ``RecordMemory``.
enum AffordableLifetime {
  /// Records that expire sooner are of no use to anyone, and those that Redis has not removed yet would outnumber them.
  static let shortest = Duration.seconds(1)

  /// The longest lifetime at which `rate` keeps within `budget`, in bytes; at most `longest`.
  static func affordable(_ budget: Double, _ rate: RecordRate.PerSecond, atMost longest: Duration) -> Duration {
    let perSecond = rate.counting(within: budget)
    guard perSecond * Double(longest.milliseconds) / 1000 > budget else { return longest }
    let seconds = budget / perSecond
    return max(shortest, .milliseconds((seconds * 1000).integer(in: 0...longest.milliseconds) ?? 0))
  }
}

/// The bytes of records that the fleet writes in a second.
///
/// A worker knows its own at once. Those of the others it learns from the counters of the fleet.
struct RecordRate {
  struct PerSecond: Equatable {
    /// Of the last minute or so.
    var average = 0.0
    /// Since the last look.
    var latest = 0.0

    /// The latest rate, as soon as it would fill a quarter of the budget before the average shows it.
    func counting(within budget: Double) -> Double {
      latest * RecordRate.memory > budget / 4 ? max(latest, average) : average
    }
  }

  /// The time constant of the average, in seconds.
  private static let memory = 60.0

  private var written: Int64 = 0
  private var own = PerSecond()
  private var others = 0.0
  private var fleet: (minute: Int64, bytes: Int64, at: UInt64)?

  /// This worker has written a record.
  mutating func add(_ bytes: Int) { written &+= Int64(bytes) }

  /// The rate of the fleet. `seconds` have passed since the last look.
  mutating func look(after seconds: Double) -> PerSecond {
    guard seconds > 0 else { return sum }
    own.latest = Double(written) / seconds
    own.average += (own.latest - own.average) * min(1, seconds / RecordRate.memory)
    written = 0
    return sum
  }

  /// This worker's share of what the fleet writes; at least a hundredth, as it may begin to write more.
  var ownShare: Double {
    let own = max(own.latest, own.average)
    return others > 0 ? max(0.01, own / (own + others)) : 1
  }

  private var sum: PerSecond { PerSecond(average: own.average + others, latest: own.latest + others) }

  /// The fleet has written `bytes` in a minute so far, `own` of them by this worker since the last note. `now` in nanoseconds.
  mutating func addFleet(_ bytes: Int64, own: Int64, minute: Int64, now: UInt64) {
    defer { fleet = (minute, bytes, now) }
    guard let before = fleet, before.minute == minute, now > before.at else { return }
    others = Double(max(0, bytes - before.bytes - own)) / (Double(now - before.at) / 1e9)
  }
}
