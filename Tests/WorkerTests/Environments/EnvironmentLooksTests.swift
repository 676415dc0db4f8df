import APNs
import EventLoop
import Registry
import PushModel
import Testing

@testable import Worker

@EventLoop
struct EnvironmentLooksTests {
  private let looks = EnvironmentLooks()

  /// Begins looks for tokens of different owners and returns the decisions.
  private func begin(_ count: Int) throws -> [LookLimits.Decision] {
    let delivery = try Delivery.testing(#"{"to":{"tokens":["abcdef0123456789abcdef"]},"title":"T"}"#)
    return delivery.drafts(count, named: "t").map {
      let first = PushAnswer(
        .uncertain(""), in: .production, question: TokenQuestion(asked: .production, isLast: false), mayRemove: true)
      return looks.begin(.init(first: first, refused: $0, draft: $0))
    }
  }

  @Test func `looks that wait are sent in their order, as others end`() throws {
    let inFlight = LookLimits.maximumInFlight
    let expected = Array(repeating: LookLimits.Decision.send, count: inFlight) + Array(repeating: .wait, count: 500)
    #expect(try begin(inFlight + 500) == expected)
    let next = (0..<500).map { _ in looks.end()?.draft.device.token }
    #expect(next == (inFlight..<inFlight + 500).map { "t\($0)" })
    #expect(looks.end() == nil)
  }

  @Test func `looks that wait are given up when the worker stops`() throws {
    _ = try begin(LookLimits.maximumInFlight + 3)
    #expect(looks.drainWaiting().map(\.draft.device.token) == (64..<67).map { "t\($0)" })
    #expect(looks.end() == nil)
  }
}
