import PushModel
import EventLoop

/// How many tokens may be asked about in the other environment, so that lists of invalid tokens delay nobody else's pushes.
struct LookLimits {
  static let maximumInFlight = 64
  /// Looks that wait for others to end.
  static let maximumWaiting = 1000
  static let maximumPerOwnerAndMinute = 60
  /// Owners that are counted at once.
  static let maximumOwners = 10_000
  private static let minute = Duration.seconds(60).unsignedNanoseconds

  /// Whose looks are counted together.
  enum Owner: Hashable {
    case user(Username), instance(String)
    /// A token without an owner.
    case token(String)
  }

  enum Decision: Equatable {
    case send, wait
    /// Too many are waiting.
    case busy
    /// The owner had enough in this minute.
    case refuse
  }

  private var counts: [Owner: Int] = [:]
  /// On CLOCK_MONOTONIC, nanoseconds.
  private var countedSince: UInt64
  private var inFlight = 0
  private var waiting = 0

  /// `now` is on CLOCK_MONOTONIC, in nanoseconds.
  init(now: UInt64) {
    countedSince = now
  }

  mutating func begin(for owner: Owner, now: UInt64) -> Decision {
    if now &- countedSince >= LookLimits.minute || counts.count >= LookLimits.maximumOwners {
      counts.removeAll(keepingCapacity: true)
      countedSince = now
    }
    guard counts[owner, default: 0] < LookLimits.maximumPerOwnerAndMinute else { return .refuse }
    guard inFlight == LookLimits.maximumInFlight else {
      counts[owner, default: 0] += 1
      inFlight += 1
      return .send
    }
    guard waiting < LookLimits.maximumWaiting else { return .busy }
    counts[owner, default: 0] += 1
    waiting += 1
    return .wait
  }

  /// A look has ended. Returns whether one that waits is in flight now.
  mutating func ended() -> Bool {
    guard waiting > 0 else {
      inFlight -= 1
      return false
    }
    waiting -= 1
    return true
  }

  /// The looks that wait were given up.
  mutating func clearWaiting() { waiting = 0 }
}
