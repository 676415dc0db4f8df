import EventLoop

/// Lets one request of a user after the other do what is heavy.
@EventLoop
final class UserTurns {
  /// Requests of one user that wait.
  static let maximumWaiting = 8
  /// Seconds.
  static let retryAfter = 1

  /// Who waits, by the user whose request is being done.
  private var waiting: [String: [CheckedContinuation<Void, Never>]] = [:]

  /// Returns when it is this request's turn; then it calls ``leave(_:)``. False when too many wait.
  func enter(_ user: String) async -> Bool {
    guard let others = waiting[user] else {
      waiting[user] = []
      return true
    }
    guard others.count < UserTurns.maximumWaiting else { return false }
    await withCheckedContinuation { waiting[user]?.append($0) }
    return true
  }

  func leave(_ user: String) {
    guard var others = waiting[user], !others.isEmpty else {
      waiting[user] = nil
      return
    }
    let next = others.removeFirst()
    waiting[user] = others
    next.resume()
  }
}
