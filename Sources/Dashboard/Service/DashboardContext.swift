import Credentials
import EventLoop
import Events
import Operations
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

  var fleet: FleetQueues { FleetQueues(queues, connection: connection) }

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

extension DashboardContext {
  /// Returns the queue of this name. Throws 404 for one that the fleet does not serve: its key may be anything.
  func queue(named name: String) throws(PageError) -> String {
    guard queues.contains(name) else {
      throw .notFound("This fleet has no such queue. It serves those of MARTLET_QUEUES.")
    }
    return name
  }

  /// Returns the queues that a list shows: the one in the query, or all.
  func queues(of request: PageRequest) throws(PageError) -> [String] {
    guard let name = request.query("queue") else { return queues }
    return [try queue(named: name)]
  }

  /// The field of a filter form that chooses a queue.
  var queueField: FilterField {
    FilterField("queue", "Queue", .choice([("", "All queues")] + queues.map { ($0, $0) }))
  }
}
