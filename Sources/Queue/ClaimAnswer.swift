import Jobs
package import Redis

/// The answer of a claiming script: `[state, deleted letters, [[size, beginning] of each buried job], element...]`. If the
/// queue has a control string, the state is `[state, control string]`.
package struct ClaimAnswer: Equatable {
  /// With their envelopes.
  package var elements: [[UInt8]] = []
  package var oversized: [OversizedJob] = []
  /// Dead letters that were deleted because there were too many.
  package var droppedLetters = 0
  /// The script stopped because of the bytes; there may be more jobs.
  package var hasMore = false
  /// A job is too large, and the key of the dead letters holds another type.
  package var isStuck = false
  /// The queue is paused: nothing was claimed, and what had landed went back.
  package var isPaused = false
  /// What operators have asked of the queue; nil if nothing.
  package var control: ControlState?

  package init(elements: [[UInt8]]) {
    self.elements = elements
  }

  /// Returns nil for anything else, such as the answer that the heartbeat has expired.
  package init?(_ value: RedisValue, queue: String) {
    guard let parts = value.array, parts.count >= 3, let state = parts[0].integer ?? parts[0].array?.first?.integer,
      let dropped = parts[1].count, let buried = parts[2].array
    else { return nil }
    if let pair = parts[0].array, pair.count == 2 { control = pair[1].bytes.flatMap(ControlState.init(bytes:)) }
    isPaused = state == 2
    elements = parts[3...].compactMap(\.bytes)
    oversized = buried.compactMap { entry in
      guard let pair = entry.array, pair.count == 2, let size = pair[0].count, let beginning = pair[1].bytes else {
        return nil
      }
      return OversizedJob(size: size, beginning: beginning, queue: queue)
    }
    droppedLetters = dropped
    hasMore = state == 1
    isStuck = state == -1
  }

  /// Whether nothing was claimed or buried, and nothing is stuck.
  package var isEmpty: Bool { elements.isEmpty && oversized.isEmpty && !isStuck }
}

/// A job that Redis moved to the dead letters because of its size.
public struct OversizedJob: Sendable, Equatable {
  /// The number of the producer's bytes.
  public let size: Int
  public let queue: String
  /// The id in the first bytes of the job, else one derived from its nonce; nil if it has no nonce.
  public let id: String?

  /// `beginning` is that of the element, its envelope included.
  init(size: Int, beginning: [UInt8], queue: String) {
    self.size = size
    self.queue = queue
    let envelope = Envelope(element: beginning)
    id = envelope.nonce.map { Job.salvagedID(fromBeginning: envelope.job) ?? JobID.derived(nonce: $0) }
  }
}
