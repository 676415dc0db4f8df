import EventLoop

@testable import APNs

/// Sends pushes, a fixed number of them at once, and counts their outcomes.
@EventLoop
final class PushRun {
  private let client: APNsClient
  private let total: Int
  private var sent = 0
  private var ended = 0
  private var continuation: CheckedContinuation<Void, Never>?
  private(set) var accepted = 0

  init(of total: Int, through client: APNsClient) {
    self.client = client
    self.total = total
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
    client.send(
      TestPush.make(sent) { outcome in
        if outcome.isAccepted { self.accepted += 1 }
        self.ended += 1
        if self.ended == self.total { self.continuation?.resume() } else { self.sendNext() }
      })
  }
}
