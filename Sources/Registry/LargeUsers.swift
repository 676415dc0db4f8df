import EventLoop

/// Users whose set is too large to be read at once, and who waits for the devices of one.
struct LargeUsers {
  typealias Completion = @EventLoop (Resolution) -> Void

  /// Remembered; others are found anew.
  private static let maximumRemembered = 1024

  /// Whether it has been said that pushes do not reach all of the user's devices.
  private var remembered: [String: Bool] = [:]
  private var waiting: [(user: String, completions: [Completion])] = []
  private var isReading = false

  func contains(_ user: String) -> Bool {
    !remembered.isEmpty && remembered[user] != nil
  }

  mutating func insert(_ user: String) {
    guard remembered[user] == nil else { return }
    if remembered.count >= LargeUsers.maximumRemembered { remembered.remove(at: remembered.startIndex) }
    remembered[user] = false
  }

  mutating func remove(_ user: String) {
    remembered[user] = nil
  }

  /// True the first time since the user was inserted.
  mutating func isFirstExcess(of user: String) -> Bool {
    guard remembered[user] != true else { return false }
    remembered[user] = true
    return true
  }

  /// Those who wait for the same user share one reading that begins after the last of them has asked.
  mutating func wait(for user: String, _ completion: @escaping Completion) {
    if let index = waiting.firstIndex(where: { $0.user == user }) {
      waiting[index].completions.append(completion)
    } else {
      waiting.append((user, [completion]))
    }
  }

  /// Whose set is to be read now; nil when nobody waits, or one is being read.
  mutating func next() -> (user: String, completions: [Completion])? {
    guard !isReading, !waiting.isEmpty else { return nil }
    isReading = true
    return waiting.removeFirst()
  }

  mutating func ended() {
    isReading = false
  }
}
