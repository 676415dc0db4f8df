/// How often an action may happen within a window, which begins with the first time.
public struct WindowLimit: Sendable, Equatable {
  public let count: Int
  public let window: Duration

  /// `count` and `window` are positive.
  public init(_ count: Int, per window: Duration) {
    precondition(count > 0 && window > .zero, "a limit needs a positive count and window")
    self.count = count
    self.window = window
  }
}

/// The actions that a ``WindowLimit`` may limit. The raw value is part of a Redis key.
public enum LimitedAction: String, Sendable {
  /// The registration of a device by a user or an instance.
  case registration = "register"
  /// A request to `/api/push/test`.
  case testPush = "test"
  /// A request to `/newtoken`, `/newpush` or another API that enqueues jobs.
  case broadcast
  /// A notification of another server.
  case notification
  /// A notification for a device.
  case notificationOfDevice = "notification:device"
  /// A failed authentication.
  case failure
}

/// Who does a limited action, and how often they may.
public typealias LimitedSubject = (action: LimitedAction, subject: String, limit: WindowLimit)

/// The state of a window after an action.
public struct WindowCount: Sendable, Equatable {
  /// How often the action has happened in this window. If greater than the limit's count, this time was not counted.
  public let count: Int
  /// The time until the window ends.
  public let left: Duration

  /// Returns whole seconds for `Retry-After`, at least 1.
  public static func seconds(_ left: Duration) -> Int {
    let (seconds, attoseconds) = left.components
    return Int(max(1, attoseconds > 0 ? seconds + 1 : seconds))
  }
}
