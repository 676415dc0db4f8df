public import Jobs
public import PushModel

/// A job that Redis moved to the dead letters because workers died with it, one after another.
public struct CrashedJob: Sendable {
  /// That of the producer, else one derived from the job's nonce.
  public let id: String
  public let queue: String
  /// The worker that died last.
  public let worker: String
  public let reason: String
  /// The present one included.
  public let attempts: Int
  public let turn: AttemptTurn
  public let nonce: String?
  /// What earlier attempts left.
  public let state: AttemptState

  /// `beginning` is that of the element, its envelope included.
  init(beginning: [UInt8], worker: String, queue: String) {
    let envelope = Envelope(element: beginning)
    id = Job.salvagedID(fromBeginning: envelope.job) ?? JobID.derived(nonce: envelope.nonce ?? "")
    self.queue = queue
    self.worker = worker
    reason = DeadLetter.crashedWorkers
    attempts = envelope.attempts + 1
    nonce = envelope.nonce
    state = AttemptState(json: envelope.state)
    turn = envelope.turn(state)
  }
}
