/// The place of an entry in a Redis stream.
public struct StreamID: Sendable, Equatable {
  /// Before every entry.
  public static let start = StreamID(milliseconds: 0, sequence: 0)

  public let milliseconds: UInt64
  public let sequence: UInt64

  public init(milliseconds: UInt64, sequence: UInt64) {
    self.milliseconds = milliseconds
    self.sequence = sequence
  }

  /// `1700000000000-0`, as Redis writes it: nothing else is accepted.
  public init?(parsing text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let milliseconds = UInt64(parts[0]), let sequence = UInt64(parts[1]) else { return nil }
    self.init(milliseconds: milliseconds, sequence: sequence)
    guard self.text == text else { return nil }
  }

  public var text: String { "\(milliseconds)-\(sequence)" }
}
