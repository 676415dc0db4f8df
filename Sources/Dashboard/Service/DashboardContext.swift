import Credentials
import EventLoop
import Events
import Queue
import Redis
import Registry
import Telemetry

/// What the pages need.
@EventLoop
struct DashboardContext {
  let configuration: DashboardConfiguration
  let connection: RedisClient
  let registry: Registry
  let credentials: Credentials
  let lastUses: LastUses
  let audit: AuditLog
  let log: Log

  /// The names of the queues, in strict order.
  var queues: [String] { configuration.queues }

  /// Without `events` a removal of devices is no event.
  init(_ configuration: DashboardConfiguration, connection: RedisClient, events: EventLog?, log: Log) {
    self.configuration = configuration
    self.connection = connection
    self.log = log
    registry = Registry(
      connection: connection, maximumDevices: configuration.maximumDevices, events: events, log: log)
    credentials = Credentials(connection: connection)
    lastUses = LastUses(connection: connection)
    audit = AuditLog(connection: connection, log: log)
  }
}
