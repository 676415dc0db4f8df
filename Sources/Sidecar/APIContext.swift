public import Credentials
public import EventLoop
public import Events
public import Jobs
package import Queue
public import Redis
public import Registry
public import Telemetry

/// The stores in Redis that the APIs use.
@EventLoop
public struct Backend {
  public let connection: RedisClient
  public let registry: Registry
  public let credentials: Credentials
  package let notifications: NotificationLog
  /// Reads the file at ``SidecarConfiguration/backupPath``. Nil disables the import.
  public var backupImport: BackupImport?

  /// - Parameter maximumDevices: the number of devices that one user may have in one app.
  /// - Parameter events: nil if no events are written.
  public init(
    connection: RedisClient, maximumDevices: Int = Registry.defaultMaximumDevices, events: EventLog? = nil, log: Log
  ) {
    self.connection = connection
    registry = Registry(connection: connection, maximumDevices: maximumDevices, events: events, log: log)
    credentials = Credentials(connection: connection)
    notifications = NotificationLog(connection: connection)
  }
}

/// Sends pushes at once, without a queue.
@EventLoop
public protocol DirectSender {
  /// Whether at least one connection to APNs is open.
  var isConnected: Bool { get }

  /// Sends `payload` as an alert to every device, at most `concurrency` at a time. Removes the devices that APNs reports as
  /// stale from the registry.
  func send(_ payload: [UInt8], to devices: [Device], concurrency: Int) async -> DirectReport
}

/// What every API needs to carry out a request.
@EventLoop
package struct APIContext {
  /// What needs Redis.
  package struct Storage {
    package let backend: Backend
    package let access: Access
  }

  package let configuration: SidecarConfiguration
  /// Nil if Redis is not configured.
  package let storage: Storage?
  /// Nil if APNs is not configured.
  package let sender: (any DirectSender)?
  package let log: Log

  /// Throws 500 if Redis is not configured.
  package func requireStorage() throws(Refusal) -> Storage {
    guard let storage else {
      throw .notConfigured("Redis", missing: configuration.missingRedisVariables, "set REDIS_URL")
    }
    return storage
  }
}
