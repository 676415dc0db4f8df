public import JSON
import Queue

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

  /// Reads the value of ``QueueKeys/control``. Nil unless the queue is paused.
  package init?(control bytes: [UInt8]) {
    guard ControlState(bytes: bytes)?.isPaused == true else { return nil }
    self.init(json: Array(bytes.drop { $0 != UInt8(ascii: "\n") }.dropFirst()))
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
