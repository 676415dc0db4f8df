public import EventLoop
import Queue
public import Redis

/// The queues of a fleet, as operators read and steer them.
@EventLoop
public struct FleetQueues {
  let names: [String]
  package let connection: RedisClient
  let recordTimeToLive: Duration

  /// `recordTimeToLive` is that of the records of jobs that are cancelled: MARTLET_RESULT_TTL.
  public init(_ names: [String], connection: RedisClient, recordTimeToLive: Duration = .seconds(24 * 3600)) {
    self.names = names
    self.connection = connection
    self.recordTimeToLive = recordTimeToLive
  }

  var keys: [QueueKeys] { names.map(QueueKeys.init(queue:)) }
}
