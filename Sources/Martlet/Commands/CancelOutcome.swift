import JSON
import Jobs
import Operations
import Queue

/// What became of a request to cancel, for a terminal.
struct CancelOutcome: Equatable {
  private static let stays = "The id stays cancelled for 24 h: a job that is enqueued with it is not sent."

  /// Whether nothing (further) is sent.
  let isStopped: Bool
  /// `cancelled`, `marked`, `ended`, `dead` or `refused`.
  let word: String
  /// The status of the job's record; nil without one.
  var status: JobStatus?
  let sentence: String

  /// A worker has ended the job, or had ended it before.
  init(_ record: JobResult) {
    status = record.status
    guard record.status == .cancelled else {
      (isStopped, word) = (false, "ended")
      sentence = "The job had ended before it could be cancelled: \(record.status.rawValue). \(CancelOutcome.stays)"
      return
    }
    (isStopped, word) = (true, "cancelled")
    let sent = record.accepted + record.failed
    sentence =
      sent == 0
      ? "Cancelled: the job was not sent to any device."
      : "Cancelled: nothing further is sent; \(record.accepted) devices had got it, \(record.failed) could not."
  }

  init(_ answer: FleetQueues.Cancellation) {
    switch answer {
    case .cancelled(let record): self.init(record)
    case .ended(let location):
      guard let record = location.record else {
        self.init(false, "ended", "The job has ended, and left no record: it may have been sent.")
        return
      }
      self.init(record)
    case .dead(let location):
      self.init(
        false, "dead",
        "The job is a dead letter: it is not sent unless it is requeued; martlet dead purge \(location.id) deletes it.",
        location.record?.status)
    case .marked(let location): self.init(marked: location)
    case .invalid: self.init(false, "refused", "No job can have this id.")
    case .tooMany:
      self.init(
        false, "refused",
        "\(FleetQueues.maximumCancellations) ids of a queue are cancelled already, each for 24 h. Try again later.")
    }
  }

  private init(marked location: JobLocation) {
    switch location.place {
    case .waiting(let place, let count):
      self.init(
        true, "marked", "The job waits at place \(place + 1) of \(count) and is dropped when a worker takes it.")
    case .inFlight(let worker):
      self.init(
        false, "marked", "The job is in flight at \(worker), which sends no further push; its record tells the rest.")
    case .unknown, .retry, .scheduled, .paused, .dead, .ended:
      self.init(true, "marked", "The job was not found. \(CancelOutcome.stays)")
    }
  }

  private init(_ isStopped: Bool, _ word: String, _ sentence: String, _ status: JobStatus? = nil) {
    self.isStopped = isStopped
    self.word = word
    self.sentence = sentence
    self.status = status
  }

  /// `{"id","outcome","stopped","status","sentence"}`
  func json(_ id: String) -> String {
    let object: JSONObject = [
      "id": id, "outcome": word, "stopped": isStopped, "status": status?.rawValue, "sentence": sentence,
    ]
    return object.line
  }
}
