public import Jobs
public import Queue

/// Where a job is.
public struct JobLocation: Sendable, Equatable {
  public enum Place: Sendable, Equatable {
    /// In the queue. `place` counts from the front: 0 is claimed next.
    case waiting(place: Int, of: Int)
    case inFlight(worker: String)
    /// Is tried again at this time, unix ms.
    case retry(due: Int64)
    /// Begins at this time, unix ms.
    case scheduled(due: Int64)
    /// A broadcast that an operator has paused.
    case paused
    /// Was given up at this time, unix ms.
    case dead(since: Int64, reason: String)
    /// Has ended; the record is all that is left.
    case ended(JobStatus)
    /// Was not found. `isWaitingPossible`: a queue is too long to be searched whole.
    case unknown(isWaitingPossible: Bool)
  }

  public let id: String
  public var place: Place
  /// Nil if the job is known by its record alone, or not at all.
  public var queue: String?
  /// The job and what the fleet knows of it, where it was found; nil if it has ended, or is unknown.
  public var envelope: Envelope?
  /// The record, for a job at any place. It may be that of an earlier attempt, or of an earlier job with the id.
  public var record: JobResult?

  /// Whether the fleet still has the job: it is neither dead nor ended nor unknown.
  public var isAlive: Bool {
    switch place {
    case .waiting, .inFlight, .retry, .scheduled, .paused: true
    case .dead, .ended, .unknown: false
    }
  }
}

extension JobLocation {
  init(id: String, place: Place, queue: String, element: [UInt8]) {
    self.init(id: id, place: place, queue: queue, envelope: Envelope(element: element))
  }
}
