/// Something that happened to a worker or its connections, which allows a push to be sent twice.
struct Incident: Equatable, Sendable {
  enum Cause: Sendable {
    /// The worker was killed: its jobs run again.
    case death
    /// The worker may have lost its lease: its jobs run again.
    case lostLease
    /// The worker may have lost answers of APNs.
    case uncertainty
  }

  let cause: Cause
  let worker: Int
  /// Unix nanoseconds.
  let begin: UInt64
  var end: UInt64

  func overlaps(_ range: ClosedRange<UInt64>) -> Bool { begin <= range.upperBound && range.lowerBound <= end }
}
