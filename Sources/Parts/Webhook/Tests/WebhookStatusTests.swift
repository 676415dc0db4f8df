import Operations
import Testing

@testable import Webhook

/// What operators see of a webhook that accepts no events.
struct WebhookStatusTests {
  @Test func `a webhook that accepts no events is a warning with the fix`() {
    let now: Int64 = 1_700_000_000_000
    var state = WebhookState()
    #expect(state.finding(at: now) == nil)
    #expect(state.checked.severity == .ok)
    state.failure = WebhookState.Failure(
      since: now - 60_000, attempts: 3, nextAttemptAt: now + 60_000, answer: "500", isPaused: true)
    #expect(state.finding(at: now)?.severity == .warning)
    #expect(state.finding(at: now)?.text.contains("paused") == true)
    #expect(state.finding(at: now)?.fix == WebhookState.fix)
    #expect(state.checked.severity == .problem)
  }
}
