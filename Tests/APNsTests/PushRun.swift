import EventLoop

@testable import APNs

/// Sends pushes, a fixed number of them at once, and counts their outcomes.
@EventLoop
final class PushRun {
  private let total: Int
  private let topic: String
  /// Is asked for each push.
  private let client: @EventLoop () -> APNsClient?
  private var sent = 0
  private var ended = 0
  private var continuation: CheckedContinuation<Void, Never>?
  private(set) var accepted = 0
  /// The outcomes of pushes that were not accepted.
  private(set) var others: Set<String> = []

  init(of total: Int, topic: String = "com.example.demo", through client: @escaping @EventLoop () -> APNsClient?) {
    self.total = total
    self.topic = topic
    self.client = client
  }

  func run(atOnce: Int) async {
    await withCheckedContinuation { continuation in
      self.continuation = continuation
      for _ in 0..<atOnce { sendNext() }
    }
  }

  private func sendNext() {
    guard sent < total else { return }
    sent += 1
    client()?.send(
      TestPush.make(sent, topic: topic) { outcome in
        if outcome.isAccepted { self.accepted += 1 } else { self.others.insert("\(outcome)") }
        self.ended += 1
        if self.ended == self.total { self.continuation?.resume() } else { self.sendNext() }
      })
  }
}
