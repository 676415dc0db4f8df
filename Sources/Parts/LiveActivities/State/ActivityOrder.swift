/// Which of two states of a Live Activity is the newer one: the one with the later timestamp, and within one second the one that
/// was enqueued later.
struct ActivityOrder: Sendable, Equatable, Comparable {
  /// Unix seconds.
  let timestamp: Int64
  /// Unix milliseconds: as the producer says, else when the job was claimed first.
  let enqueuedAt: Int64
  /// Orders jobs of one millisecond by their first claims.
  let sequence: String

  init(timestamp: Int64, enqueuedAt: Int64, sequence: String) {
    self.timestamp = timestamp
    self.enqueuedAt = enqueuedAt
    self.sequence = sequence
  }

  static func < (left: ActivityOrder, right: ActivityOrder) -> Bool {
    (left.timestamp, left.enqueuedAt, left.sequence) < (right.timestamp, right.enqueuedAt, right.sequence)
  }
}
