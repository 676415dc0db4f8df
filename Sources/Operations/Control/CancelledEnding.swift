import EventLoop
import Events
import Jobs
import Queue

/// What is written for a job that is cancelled while no worker has it.
struct CancelledEnding {
  var result: JobResult
  let record: Settlement.Record
  var replyTo: String?
  /// The event of a broadcast; nil for other jobs.
  var event: Event?

  @EventLoop
  init(id: String, queue: String, envelope: Envelope, timeToLive: Duration) {
    let state = AttemptState(json: envelope.state)
    let now = Clock.unixMilliseconds
    var result = JobResult(
      id: id, status: .cancelled, attempts: envelope.attempts, worker: "", claimedAt: now, finishedAt: now)
    if let earlier = state.result { result.merge(earlier: earlier) }
    result.turn = envelope.turn(state)
    result.history = state.history
    result.history.append(now, .ended(.cancelled, reason: nil))
    self.result = result
    record = Settlement.Record(
      jobID: id, json: result.json(nonce: envelope.nonce), timeToLive: timeToLive, author: state.recordAuthor)
    let job = try? Job(stored: envelope.job)
    replyTo = job?.replyTo
    guard case .app(let app) = job?.addressee else { return }
    event = .finished(
      EventJob(id: id, queue: queue, trace: job?.trace?.text), app: app, result.status, result, at: now)
  }
}
