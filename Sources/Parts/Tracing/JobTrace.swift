import EventLoop
import Jobs

/// What is recorded of one attempt at a job whose trace is recorded. Other jobs have none.
@EventLoop
final class JobTrace {
  /// Further pushes are counted only.
  static let maximumPushes = 20

  /// A push that has ended.
  struct Push: Equatable {
    /// Unix nanoseconds.
    var start: UInt64
    /// Unix nanoseconds.
    var end: UInt64
    /// HTTP status; 0 if APNs did not answer.
    var status: Int
    /// Nil if it was accepted.
    var reason: String?
    var apnsID: String
    /// Shortened.
    var token: String
    var topic: String
    var environment: String
  }

  /// 32 hexadecimal digits.
  let traceID: String
  /// The span that the job is a child of.
  let parentID: String?
  /// Unix nanoseconds.
  let claimedAt: UInt64
  /// Unix nanoseconds; nil before the devices are known.
  private(set) var resolvedAt: UInt64?
  private(set) var pushes: [Push] = []
  private(set) var omittedPushes = 0

  init(traceID: String, parentID: String?, claimedAt: UInt64) {
    self.traceID = traceID
    self.parentID = parentID
    self.claimedAt = claimedAt
  }

  func resolved() {
    if resolvedAt == nil { resolvedAt = Clock.unixNanoseconds }
  }

  /// - Parameter push: makes the record; not called if there are too many.
  func ended(_ push: @autoclosure () -> Push) {
    guard pushes.count < JobTrace.maximumPushes else {
      omittedPushes += 1
      return
    }
    pushes.append(push())
  }
}
