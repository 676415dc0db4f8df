import JSON

/// What operators have asked of a queue: the value of ``QueueKeys/control``, which is absent while nothing is asked.
///
/// `<version> <letters>`, then for a paused queue a line feed and JSON `{"since","by","reason"}`, which is for operators. Each
/// change raises the version. The letters are those of ``Flag``.
public struct ControlState: Sendable, Equatable {
  /// What a worker has to observe.
  public enum Flag: Character, Sendable, CaseIterable {
    /// No job is claimed.
    case paused = "P"
    /// ``QueueKeys/cancelled`` may have entries.
    case cancellations = "C"
    /// ``QueueKeys/pauses`` has entries: broadcasts are paused.
    case pausedBroadcasts = "B"
    /// ``QueueKeys/drained`` may have entries.
    case drainedWorkers = "D"
    /// Jobs with a producer's id are scheduled. Another job with the same id replaces them.
    case scheduledIDs = "S"
  }

  public let version: Int64
  public let flags: Set<Flag>

  /// Returns nil if `bytes` is not a value of the key.
  public init?(bytes: [UInt8]) {
    let lineEnd = bytes.firstIndex(of: UInt8(ascii: "\n")) ?? bytes.endIndex
    let head = String(decoding: bytes[..<lineEnd], as: UTF8.self)
    let words = head.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    guard words.count == 2, let version = words[0].integer(in: NumberRange.counts) else { return nil }
    self.version = version
    flags = Set(words[1].compactMap(Flag.init))
  }

  public var isPaused: Bool { flags.contains(.paused) }
}
