import JSON

/// The id of an entry in a stream.
public struct StreamID: Sendable, Equatable, Comparable {
  /// Before every entry.
  public static let start = StreamID(milliseconds: 0, sequence: 0)

  private static let numbers = 0...UInt64.max

  public let milliseconds: UInt64
  public let sequence: UInt64

  public init(milliseconds: UInt64, sequence: UInt64) {
    self.milliseconds = milliseconds
    self.sequence = sequence
  }

  /// Parses `1700000000000-0`. Returns nil for any other form, such as one with leading zeros.
  public init?(parsing text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let milliseconds = parts[0].integer(in: StreamID.numbers),
      let sequence = parts[1].integer(in: StreamID.numbers)
    else { return nil }
    self.init(milliseconds: milliseconds, sequence: sequence)
    guard self.text == text else { return nil }
  }

  public var text: String { "\(milliseconds)-\(sequence)" }

  public static func < (left: StreamID, right: StreamID) -> Bool {
    (left.milliseconds, left.sequence) < (right.milliseconds, right.sequence)
  }
}
