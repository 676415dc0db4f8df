public import Jobs
public import Policy
public import Queue

/// Where a job is.
public enum JobPlace: Sendable, Equatable {
  /// In a queue's list. `ahead` is how many jobs are taken before it, nil if that is unknown.
  case waiting(queue: String, ahead: Int64?)
  /// Claimed by a worker. `isAlive` is false if the worker has no heartbeat.
  case inFlight(queue: String, worker: String, isAlive: Bool)
  /// Retried at this time, unix ms.
  case retry(queue: String, due: Int64)
  /// Waits for its `sendAt`, or is held by a delivery policy, until this time, unix ms.
  case scheduled(queue: String, due: Int64)
  case dead(queue: String)
  /// In none of them, or not found.
  case nowhere

  public var queue: String? {
    switch self {
    case .waiting(let queue, _), .inFlight(let queue, _, _), .retry(let queue, _), .scheduled(let queue, _): queue
    case .dead(let queue): queue
    case .nowhere: nil
    }
  }
}

/// What Redis knows of a job.
public struct JobFacts: Sendable {
  public var id: String
  public var place = JobPlace.nowhere
  /// Nil if there is none.
  public var record: JobResult?
  /// The job as it is stored; nil unless it was found.
  public var envelope: Envelope?
  /// The dead letter; nil unless it was found.
  public var letter: DeadLetter?
  /// Whether an operator has paused the queue of ``place``.
  public var isQueuePaused = false
  /// The reports of the live workers of the queues, by name.
  public var workers: [String: WorkerReport] = [:]
  /// Unix ms.
  public var now: Int64
  public var localTime: LocalTime

  public init(id: String, now: Int64, localTime: LocalTime) {
    self.id = id
    self.now = now
    self.localTime = localTime
  }

  /// The job, if it was found and is valid.
  var job: Job? {
    guard let envelope = envelope ?? letter?.envelope else { return nil }
    do { return try Job(parsing: envelope.job) } catch { return nil }
  }

  /// What earlier attempts left, if the job was found.
  var state: AttemptState? { (envelope ?? letter?.envelope).map { AttemptState(json: $0.state) } }

  /// Of the record, or of the job itself if there is none: not all settings keep records.
  var history: JobHistory {
    guard let history = record?.history, !history.isEmpty else { return state?.history ?? JobHistory() }
    return history
  }

  var text: TimeText { TimeText(now: now, localTime: localTime) }
}
