import Jobs

/// A job that Redis moved to the dead letters because of its size.
public struct OversizedJob: Sendable, Equatable {
  /// Of the producer's bytes.
  public let size: Int
  /// The queue it stood in.
  public let queue: String
  /// The job's own if it stands among its first bytes; nil when nothing tells.
  public let id: String?

  /// `beginning` is that of the element, its envelope included.
  init(size: Int, beginning: [UInt8], queue: String) {
    self.size = size
    self.queue = queue
    let envelope = Envelope(element: beginning)
    id = envelope.nonce.map { Job.salvagedID(fromBeginning: envelope.job) ?? JobID.derived(nonce: $0) }
  }
}
