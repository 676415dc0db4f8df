import EventLoop
import Jobs
import JSON
package import Redis

/// What is known of a broadcast, for operators: the value of ``QueueKeys/broadcast(_:)``.
public struct BroadcastEntry: Sendable, Equatable {
  public enum State: String, Sendable, CaseIterable {
    /// Waits for its turn at a worker, or for its next attempt.
    case waiting
    case running
    case paused
    /// Has ended; the record has the result.
    case finished
    case cancelled
  }

  public let id: String
  public var queue: String
  /// The bundle id whose audience it is for.
  public let app: String
  public var state: State
  /// When a worker took it first, unix ms.
  public var startedAt: Int64
  /// When its state last changed, unix ms.
  public var changedAt: Int64
  /// The worker that had it last.
  public var worker: String
  /// The nonce of its element.
  package var nonce: String

  public init(
    id: String, queue: String, app: String, state: State, startedAt: Int64, changedAt: Int64, worker: String,
    nonce: String
  ) {
    self.id = id
    self.queue = queue
    self.app = app
    self.state = state
    self.startedAt = startedAt
    self.changedAt = changedAt
    self.worker = worker
    self.nonce = nonce
  }

  func json() -> [UInt8] {
    let object: JSONObject = [
      "id": id, "app": app, "state": state.rawValue, "worker": worker, "nonce": nonce, "startedAt": startedAt,
      "changedAt": changedAt,
    ]
    return object.bytes
  }
}

extension BroadcastEntry {
  /// Writes the entry.
  package func writing(_ keys: QueueKeys) -> RedisCall {
    QueueScripts.writeBroadcast(
      latest: keys.broadcasts, broadcast: keys.broadcast(id), control: keys.control, pauses: keys.pauses, id: id,
      entry: json(), ttl: QueueLimits.broadcastTimeToLive.milliseconds, at: changedAt,
      most: QueueLimits.knownBroadcasts, hasEnded: state == .finished || state == .cancelled ? 1 : 0)
  }
}
