import Queue
public import Credentials
public import EventLoop
import Jobs
public import Redis
public import Registry
public import Telemetry

/// What the surfaces work on.
@EventLoop
public struct Backend {
  public let connection: RedisConnection
  public let registry: Registry
  public let credentials: Credentials
  let notifications: NotificationLog

  /// `maximumDevices` is of one user.
  public init(connection: RedisConnection, maximumDevices: Int = Registry.defaultMaximumDevices, log: Log) {
    self.connection = connection
    registry = Registry(connection: connection, maximumDevices: maximumDevices, log: log)
    credentials = Credentials(connection: connection)
    notifications = NotificationLog(connection: connection)
  }
}
