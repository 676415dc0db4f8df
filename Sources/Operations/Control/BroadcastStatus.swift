import JSON
public import Queue

/// A broadcast with its progress.
public struct BroadcastStatus: Sendable, Equatable {
  public var entry: BroadcastEntry
  /// Pushes that APNs has accepted and refused so far; of pages that are committed.
  public var accepted = 0
  public var failed = 0
  /// The position in the audience, the text of an `AudienceCursor`, `~` at the end; nil before the first page.
  public var cursor: String?
  /// Since when and by whom it is paused; nil unless it is.
  public var pause: QueuePause?

  /// The mean of the pushes per second since it began; nil unless it runs.
  public func pace(at now: Int64) -> Double? {
    guard entry.state == .running, now > entry.startedAt else { return nil }
    return Double(accepted + failed) * 1000 / Double(now - entry.startedAt)
  }
}

extension BroadcastEntry {
  /// Returns nil if `bytes` is not an entry.
  init?(json bytes: [UInt8], queue: String) {
    guard let value = try? JSONValue(parsing: bytes), let id = value["id"]?.string, let app = value["app"]?.string,
      let state = value["state"]?.string.flatMap(State.init)
    else { return nil }
    self.init(
      id: id, queue: queue, app: app, state: state, startedAt: value["startedAt"]?.time ?? 0,
      changedAt: value["changedAt"]?.time ?? 0, worker: value["worker"]?.string ?? "",
      nonce: value["nonce"]?.string ?? "")
  }
}
