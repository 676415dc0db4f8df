import JSON
import Queue

/// The place in a sorted set at which a page begins: a score, and the number of its members on earlier pages.
///
/// It stays right while members before it come and go, and finding it takes O(log n).
public struct SortedPosition: Sendable, Equatable {
  /// As Redis writes it.
  public let score: String
  /// Members of this score that were read before.
  public let skip: Int

  private static let maximumScoreBytes = 24
  private static let maximumSkip = 10_000_000

  public init(score: Int64, skip: Int = 0) {
    self.score = String(score)
    self.skip = skip
  }

  /// Returns nil if `score` is not a finite number, as Redis writes one.
  init?(score: String, skip: Int) {
    let isNumber = score.utf8.allSatisfy {
      (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "e")
        || $0 == UInt8(ascii: "+")
    }
    guard isNumber, score.utf8.count <= SortedPosition.maximumScoreBytes, SortedPosition.value(score) != nil,
      (0...SortedPosition.maximumSkip).contains(skip)
    else { return nil }
    self.score = score
    self.skip = skip
  }

  /// Reads `<score>,<skip>`. Returns nil for anything else: a page's address may be forged.
  public init?(_ text: some StringProtocol) {
    let parts = text.split(separator: ",", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let skip = parts[1].integer(in: 0...SortedPosition.maximumSkip) else {
      return nil
    }
    self.init(score: String(parts[0]), skip: skip)
  }

  public var text: String { "\(score),\(skip)" }

  /// ``score`` as a number.
  public var value: Double? { SortedPosition.value(score) }

  private static func value(_ score: String) -> Double? {
    score.number(in: -Double.greatestFiniteMagnitude...Double.greatestFiniteMagnitude)
  }

  /// Whether this is the place of a paused broadcast among the scheduled jobs.
  public var isWithoutDate: Bool { score == String(QueueLimits.withoutDate) }

  /// Unix ms, of a set that is sorted by time.
  public var milliseconds: Int64 { SortedPosition.milliseconds(score) }

  /// Reads a score of a set that is sorted by time. 0 for a number that cannot be a time.
  static func milliseconds(_ score: String) -> Int64 {
    score.number(in: 0...Double(Timestamp.maximum))?.rounded().integer(in: NumberRange.times) ?? 0
  }
}

extension SortedPosition {
  /// The place of the member that was read before this one, of the same score.
  var preceding: SortedPosition? { SortedPosition(score: score, skip: skip - 1) }

  /// The place behind the member that was read here.
  public var following: SortedPosition { SortedPosition(score: score, skip: skip + 1) ?? self }
}
