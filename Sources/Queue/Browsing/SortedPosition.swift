/// A place in a sorted set from which a page of it is read: so many members of one score were read before.
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
    guard isNumber, score.utf8.count <= SortedPosition.maximumScoreBytes, let value = Double(score), value.isFinite,
      (0...SortedPosition.maximumSkip).contains(skip)
    else { return nil }
    self.score = score
    self.skip = skip
  }

  /// Reads `<score>,<skip>`. Returns nil for anything else: a page's address may be forged.
  public init?(_ text: some StringProtocol) {
    let parts = text.split(separator: ",", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let skip = Int(parts[1]), parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      return nil
    }
    self.init(score: String(parts[0]), skip: skip)
  }

  public var text: String { "\(score),\(skip)" }

  /// Unix ms, of a set that is sorted by time.
  public var milliseconds: Int64 { Double(score).flatMap { Int64(exactly: $0.rounded()) } ?? 0 }
}

extension SortedPosition {
  /// The place behind the member that was read here.
  public var following: SortedPosition { SortedPosition(score: score, skip: skip + 1) ?? self }
}
