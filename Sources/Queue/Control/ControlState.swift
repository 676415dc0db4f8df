public import JSON

/// What operators have asked of a queue: the value of ``QueueKeys/control``, which is absent while nothing is asked.
///
/// `<version> <letters>`, then for a paused queue a line feed and JSON `{"since","by","reason"}`. Each change raises the
/// version. The letters are those of ``Flag``.
public struct ControlState: Sendable, Equatable {
  /// What a worker has to observe.
  public enum Flag: Character, Sendable, CaseIterable {
    /// No job is claimed.
    case paused = "P"
    /// ``QueueKeys/cancelled`` may have entries.
    case cancellations = "C"
    /// ``QueueKeys/held`` has entries: broadcasts are paused.
    case pausedBroadcasts = "B"
    /// ``QueueKeys/drained`` may have entries.
    case drainedWorkers = "D"
    /// Jobs with a producer's id are scheduled. Another job with the same id replaces them.
    case scheduledIDs = "S"
  }

  public let version: Int64
  public let flags: Set<Flag>
  /// Nil unless the queue is paused.
  public let pause: QueuePause?

  /// Returns nil if `bytes` is not a value of the key.
  public init?(bytes: [UInt8]) {
    let lineEnd = bytes.firstIndex(of: UInt8(ascii: "\n")) ?? bytes.endIndex
    let head = String(decoding: bytes[..<lineEnd], as: UTF8.self)
    let words = head.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    guard words.count == 2, let version = words[0].integer(in: NumberRange.counts) else { return nil }
    self.version = version
    flags = Set(words[1].compactMap(Flag.init))
    guard flags.contains(.paused) else {
      pause = nil
      return
    }
    pause = QueuePause(json: Array(bytes[lineEnd...].dropFirst()))
  }

  public var isPaused: Bool { flags.contains(.paused) }
}

/// Since when a queue is paused, by whom, and why.
public struct QueuePause: Sendable, Equatable, JSONWritable {
  /// A longer text of an operator is cut.
  static let maximumTextBytes = 200

  /// Unix ms.
  public let since: Int64
  /// The operator; empty if unknown.
  public let by: String
  /// Empty if none was given.
  public let reason: String

  public init(since: Int64, by: String, reason: String) {
    self.since = since
    self.by = by.prefix(bytes: QueuePause.maximumTextBytes)
    self.reason = reason.prefix(bytes: QueuePause.maximumTextBytes)
  }

  /// Bytes that cannot be read give a pause of unknown origin.
  package init(json bytes: [UInt8]) {
    let value = try? JSONValue(parsing: bytes)
    self.init(
      since: value?["since"]?.time ?? 0, by: value?["by"]?.string ?? "", reason: value?["reason"]?.string ?? "")
  }

  private var object: JSONObject { ["since": since, "by": by, "reason": reason] }

  package func json() -> [UInt8] { object.bytes }

  public func write(to writer: inout JSONWriter) { object.write(to: &writer) }
}
