import Redis

/// What a claiming script answers: `[state, letters that had to go, [[length, beginning] of each buried job], element...]`.
package struct ClaimAnswer: Equatable {
  /// With their envelopes.
  var elements: [[UInt8]] = []
  var oversized: [OversizedJob] = []
  /// Dead letters that had to go, as there are too many.
  var droppedLetters = 0
  /// It stopped because of the bytes, not because the queue is empty.
  var hasMore = false
  /// A job is too large, and the key of the dead letters holds another type.
  var isStuck = false

  init(elements: [[UInt8]]) {
    self.elements = elements
  }

  /// Nil for anything else, such as the answer that the heartbeat has lapsed.
  init?(_ value: RedisValue, queue: String) {
    guard let parts = value.array, parts.count >= 3, let state = parts[0].integer, let dropped = parts[1].integer,
      let buried = parts[2].array
    else { return nil }
    elements = parts[3...].compactMap(\.bytes)
    oversized = buried.compactMap { entry in
      guard let pair = entry.array, pair.count == 2, let size = pair[0].integer, let beginning = pair[1].bytes else {
        return nil
      }
      return OversizedJob(size: Int(size), beginning: beginning, queue: queue)
    }
    droppedLetters = Int(dropped)
    hasMore = state == 1
    isStuck = state == -1
  }
}
