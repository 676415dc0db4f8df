package import Credentials
package import EventLoop
package import Events
import Jobs
package import Operations
import Queue
package import Redis
package import Registry
package import Telemetry

/// What the pages need.
@EventLoop
package struct DashboardContext {
  package let configuration: DashboardConfiguration
  package let connection: RedisClient
  package let registry: Registry
  package let credentials: Credentials
  package let lastUses: LastUses
  let audit: AuditLog
  package let log: Log

  /// The names of the queues, in strict order.
  package var queues: [String] { configuration.queues }
  package var statuses: DashboardConfiguration.StatusReader? { configuration.statuses }

  package var fleet: FleetQueues { FleetQueues(queues, connection: connection) }

  /// Without `events` a removal of devices is no event.
  package init(_ configuration: DashboardConfiguration, connection: RedisClient, events: EventLog?, log: Log) {
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
  package func queue(named name: String) throws(PageError) -> String {
    guard queues.contains(name) else {
      throw .notFound("This fleet has no such queue. It serves those of MARTLET_QUEUES.")
    }
    return name
  }

  /// Returns the queues that a list shows: the one in the query, or all.
  package func queues(of request: PageRequest) throws(PageError) -> [String] {
    guard let name = request.query("queue") else { return queues }
    return [try queue(named: name)]
  }

  /// The field of a filter form that chooses a queue.
  package var queueField: FilterField {
    FilterField("queue", "Queue", .choice([("", "All queues")] + queues.map { ($0, $0) }))
  }
}

extension DashboardContext {
  /// Pauses, resumes or cancels a broadcast.
  package func perform(
    _ action: PageAction, onBroadcast id: String, _ request: PageRequest
  ) async throws(PageError) -> ActionOutcome {
    let unknown = PageError.notFound("No broadcast with this id is known. Nothing was changed.")
    switch action {
    case .pause:
      let answer = try await refusingFaults(await fleet.pause(broadcast: id, by: request.operator.name))
      switch answer {
      case .paused: return .done("Paused \(id). Pages under way are finished, and its progress is kept.")
      case .ended: throw .movedOn("The broadcast has moved on: it has ended. Nothing was changed.")
      case .unknown: throw unknown
      case .tooMany: return .refused("Too many broadcasts are paused. Resume or cancel one of them first.")
      }
    case .resume:
      if try await refusingFaults(await fleet.resume(broadcast: id)) {
        return .done("Resumed \(id). It continues after its last page.")
      }
      guard let status = try await refusingFaults(await fleet.broadcast(id)) else { throw unknown }
      throw .movedOn("The broadcast has moved on: it is now \(status.entry.state.rawValue). Nothing was changed.")
    default:
      guard try await refusingFaults(await fleet.broadcast(id)) != nil else { throw unknown }
      return try await cancel(job: id)
    }
  }
}

extension DashboardContext {
  /// Cancels a job.
  package func cancel(job id: String) async throws(PageError) -> ActionOutcome {
    let stays = " The id stays cancelled for 24 h: a job that is enqueued with it is not sent."
    switch try await refusingFaults(await fleet.cancel(id)) {
    case .cancelled(let record):
      let sent =
        record.accepted > 0 ? " APNs had accepted \(NumberText.count(record.accepted, "push", "pushes"))." : ""
      return .done("Cancelled \(id): nothing more is sent.\(sent)\(stays)")
    case .marked(let location):
      if case .unknown = location.place { return .done("\(id) was not found.\(stays)") }
      return .done("\(id) is \(JobPlaceText.now(location.place)). Its worker ends it before the next push.\(stays)")
    case .dead(let location), .ended(let location):
      throw .movedOn("The job has moved on: it is now \(JobPlaceText.now(location.place)).\(stays)")
    case .invalid: throw .notFound("No job can have the id \(id). Nothing was changed.")
    case .tooMany: return .refused("Too many ids are cancelled. Try again later.")
    }
  }

  /// Runs a job before its time.
  package func runNow(job id: String) async throws(PageError) -> ActionOutcome {
    if let location = try await refusingFaults(await fleet.runNow(id)) {
      throw JobPlaceText.movedOn(location.place)
    }
    return .done("\(id) is at the front of its queue.")
  }
}

extension DashboardContext {
  /// Pauses or resumes a queue.
  package func perform(
    _ action: PageAction, onQueue queue: String, _ request: PageRequest
  ) async throws(PageError) -> ActionOutcome {
    let control = QueueControl(queue: queue, connection: connection)
    guard action == .pause else {
      return try await refusingFaults(await control.resume())
        ? .done("Resumed \(queue). Workers claim its jobs again within a second.")
        : .refused("\(queue) was not paused. Nothing was changed.")
    }
    if let pause = try await refusingFaults(await control.currentPause()) {
      return .refused("\(queue) was paused before, by \(pause.author). Nothing was changed.")
    }
    _ = try await refusingFaults(await control.pause(by: request.operator.name, reason: request.field("reason") ?? ""))
    return .done("Paused \(queue). Workers claim no more of its jobs. Jobs in flight are finished.")
  }
}
