import TestSupport

/// A job that the run has enqueued.
struct ProducedJob: Sendable {
  enum Addressee: Sendable {
    /// Devices that never change: all are expected.
    case devices([String])
    /// A user whose only device may change its owner.
    case user(HardName, device: String)
  }

  let id: String
  let addressee: Addressee
  var isAtMostOnce = false
  /// Unix nanoseconds; nothing is sent before.
  var notBefore: UInt64?
  /// When it was sent to Redis, unix nanoseconds.
  let sent: UInt64
  /// Whether Redis confirmed it. Otherwise it may be in the queue or not.
  var isConfirmed = false
}
