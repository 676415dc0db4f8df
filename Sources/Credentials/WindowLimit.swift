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
  /// A test push to a device.
  case testPush = "test"
  /// A request to `/newtoken` or `/newpush`, or a job that another API enqueues.
  case broadcast
  /// A notification of another server for one device.
  case notification
  /// The same, counted for the device.
  case notificationOfDevice = "notification:device"
  /// A failed authentication.
  case failure
}

/// Who does a limited action, how often they may, and how often this request does it, at least once.
public typealias LimitedSubject = (action: LimitedAction, subject: String, limit: WindowLimit, weight: Int)

/// The state of a window after an action.
public struct WindowCount: Sendable, Equatable {
  /// How often the action has happened in this window, with this request.
  public let count: Int
  /// The time until the window ends.
  public let left: Duration
  /// Whether the limit does not admit the request, which was then not counted.
  public let isOver: Bool

  /// Returns whole seconds for `Retry-After`, at least 1.
  public static func seconds(_ left: Duration) -> Int {
    let (seconds, attoseconds) = left.components
    return Int(max(1, attoseconds > 0 ? seconds + 1 : seconds))
  }
}
