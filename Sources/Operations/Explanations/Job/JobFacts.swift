import EventLoop
import Jobs
import Queue
public import Redis

/// What Redis knows of a job.
struct JobFacts: Sendable {
  var location: JobLocation
  /// Nil unless the queue of the job is paused.
  var pause: QueuePause?
  /// The reports of the live workers of the queues, by name.
  var workers: [String: WorkerReport] = [:]
  /// Unix ms.
  var now: Int64
  var localTime: LocalTime

  var id: String { location.id }
  var record: JobResult? { location.record }

  /// The job, if it was found and is valid.
  var job: Job? {
    guard let envelope = location.envelope else { return nil }
    do { return try Job(stored: envelope.job) } catch { return nil }
  }

  /// Of the record, or of the job itself if there is none: not all settings keep records.
  var history: JobHistory {
    if let history = record?.history, !history.isEmpty { return history }
    return location.envelope.map { AttemptState(json: $0.state).history } ?? JobHistory()
  }

  /// The Live Activity that the job is about; nil for other jobs.
  var activity: String? {
    switch job?.addressee {
    case .activity(let id, _)?, .activityToken(let id, _)?: id
    default: job?.liveActivity?.id
    }
  }

  /// Whether the job brings the newest state of a Live Activity that has no update token.
  var waitsForToken: Bool { record?.status == .deferred && record?.reason == "no_token_yet" }

  /// When the job is given up, in unix ms; nil if that is not known.
  var expiresAt: Int64? { location.envelope.flatMap { AttemptState(json: $0.state).expiresAt } }

  /// Whether the worker that holds the job has a heartbeat.
  func isAlive(_ worker: String) -> Bool { workers[worker] != nil }

  /// Whether the job waits for a queue that is paused.
  func isStopped(_ state: JobExplanation.State) -> Bool {
    switch state {
    case .waiting, .retrying, .scheduled, .deferred: pause != nil
    case .unknown, .inFlight, .paused, .dead, .ended: false
    }
  }

  var text: TimeText { TimeText(now: now, localTime: localTime) }
}

/// Explains jobs: reads what Redis knows of one and puts it into sentences.
///
/// An explanation takes a few commands, none of which depends on the length of a backlog.
extension FleetQueues {
  /// Explains a job that was located just now.
  public func explain(_ location: JobLocation) async throws(RedisError) -> JobExplanation {
    var facts = JobFacts(location: location, now: Clock.unixMilliseconds, localTime: .system)
    if let queue = location.queue, location.isAlive {
      facts.pause = try await QueueControl(queue: queue, connection: connection).currentPause()
    }
    facts.workers = try await QueueOverview.read(names, from: connection).workers
    return JobExplanation(facts)
  }
}
