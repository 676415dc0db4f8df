/// How many times something may happen within a window; the window begins with the first time.
public struct WindowLimit: Sendable, Equatable {
  public let count: Int
  public let window: Duration

  /// `count` and `window` are positive.
  public init(_ count: Int, per window: Duration) {
    precondition(count > 0 && window > .zero, "a limit admits something at some time")
    self.count = count
    self.window = window
  }
}

/// What is counted by ``WindowLimit``s. The raw value is part of a key.
public enum LimitedAction: String, Sendable {
  /// The registration of a device by a user or an instance.
  case registration = "register"
  /// A call of `/api/push/test`.
  case testPush = "test"
  /// A call of `/newtoken` or `/newpush`.
  case broadcast
  /// A failed authentication.
  case failure
}

/// Where a window stands after one more.
public struct WindowCount: Sendable, Equatable {
  /// How often it has happened in this window; more than the limit's count: this time was refused, and not counted.
  public let count: Int
  /// Until the window ends.
  public let left: Duration

  public init(count: Int, left: Duration) {
    self.count = count
    self.left = left
  }

  /// Whole seconds for `Retry-After`, at least 1.
  public static func seconds(_ left: Duration) -> Int {
    let (seconds, attoseconds) = left.components
    return Int(max(1, attoseconds > 0 ? seconds + 1 : seconds))
  }
}
