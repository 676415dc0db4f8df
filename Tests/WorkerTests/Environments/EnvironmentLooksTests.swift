import APNs
import EventLoop
import Registry
import Testing

@testable import Worker

@EventLoop
struct EnvironmentLooksTests {
  @EventLoop
  private final class Sent {
    var tokens: [String] = []
    /// Whether looks end at once, as those of cancelled jobs do.
    var endsAtOnce = false
  }

  private let looks = EnvironmentLooks()
  private let sent = Sent()

  init() {
    looks.connect { [looks, sent] in
      sent.tokens.append($0.draft.device.token)
      if sent.endsAtOnce { looks.ended() }
    }
  }

  /// Begins looks for tokens of different owners.
  private func begin(_ count: Int) throws {
    let delivery = try Delivery.testing(#"{"to":{"tokens":["abcdef0123456789abcdef"]},"title":"T"}"#)
    for draft in delivery.drafts(count, named: "t") {
      _ = looks.begin(.init(first: .uncertain(""), mayRemove: true, refused: draft, draft: draft))
    }
  }

  @Test func `looks that wait are sent in their order, also if many end at once`() throws {
    try begin(LookLimits.maximumInFlight + 500)
    #expect(sent.tokens.count == LookLimits.maximumInFlight)
    looks.ended()
    #expect(sent.tokens.count == LookLimits.maximumInFlight + 1)
    sent.endsAtOnce = true
    looks.ended()
    #expect(sent.tokens == (0..<LookLimits.maximumInFlight + 500).map { "t\($0)" })
  }

  @Test func `looks that wait are given up when the worker stops`() throws {
    try begin(LookLimits.maximumInFlight + 3)
    #expect(looks.drainWaiting().map(\.draft.device.token) == (64..<67).map { "t\($0)" })
    looks.ended()
    #expect(sent.tokens.count == LookLimits.maximumInFlight)
  }
}
