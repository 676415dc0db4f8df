import PushModel
import EventLoop
import Jobs
import TestSupport
import Testing

@testable import Queue
@testable import Worker

@EventLoop
struct IntakeTests {
  private static let now: Int64 = 1_000_000

  private func decide(
    _ members: String = "", mode: DeliveryMode = .atLeastOnce, crashes: Int = 0, state: AttemptState = AttemptState()
  ) -> Intake.Decision {
    let json = #"{"id":"j","to":{"user":"alice"},"title":"T"\#(members)}"#
    return Intake.testing(mode: mode).decide(
      .testing(json, crashes: crashes, state: state, now: Self.now), worker: "w", now: Self.now)
  }

  @Test func `a plain job is delivered`() throws {
    guard case .deliver(let delivery) = decide() else { throw Unexpected() }
    #expect(delivery.id == "j")
    #expect(delivery.username == "alice")
    #expect(delivery.state.expiresAt == nil)
    #expect(delivery.tally.result.attempts == 1)
  }

  @Test func `bytes that are not a job are refused with a reason`() throws {
    let claim = Claim.testing("{}", now: Self.now)
    guard case .refuse(let reason) = Intake.testing().decide(claim, worker: "w", now: Self.now) else {
      throw Unexpected()
    }
    #expect(!reason.isEmpty)
  }

  @Test func `a reply to one of the worker's queues is refused`() throws {
    guard case .refuse(let reason) = decide(#","replyTo":"jobs""#) else { throw Unexpected() }
    #expect(reason.hasPrefix("replyTo"))
  }

  @Test func `an expired job ends without an attempt`() throws {
    guard case .end(_, let outcome) = decide(#","expiration":1000"#) else { throw Unexpected() }
    #expect(outcome == JobOutcome(status: .expired, exit: .acknowledge))
  }

  @Test func `a ttl counts from the first claim`() throws {
    guard case .deliver(let first) = decide(#","ttl":60"#) else { throw Unexpected() }
    #expect(first.state.expiresAt == Self.now + 60_000)
    var state = AttemptState()
    state.expiresAt = Self.now + 1
    guard case .deliver(let second) = decide(#","ttl":60"#, state: state) else { throw Unexpected() }
    #expect(second.state.expiresAt == Self.now + 1)
  }

  @Test(arguments: [#","ttl":0"#, #","expiration":0"#])
  func `zero asks APNs not to store the push and limits no retry`(members: String) throws {
    guard case .deliver(let delivery) = decide(members) else { throw Unexpected() }
    #expect(delivery.state.expiresAt == nil)
    #expect(delivery.content.expiration == 0)
  }

  @Test func `a job for later is scheduled once, and its ttl counts from then`() throws {
    guard case .schedule(let delivery, let at) = decide(#","sendAt":100000000000,"ttl":60"#) else { throw Unexpected() }
    #expect(at == 100_000_000_000)
    let state = AttemptState(json: Envelope(element: delivery.scheduledElement(recordAuthor: nil)).state)
    #expect(state.isReleased)
    #expect(state.expiresAt == 100_000_060_000)
    guard case .deliver = decide(#","sendAt":100000000000,"ttl":60"#, state: state) else { throw Unexpected() }
  }

  @Test func `a job whose worker died is delivered again, unless it is at most once`() throws {
    guard case .deliver = decide(crashes: 1) else { throw Unexpected() }
    guard case .buryCrashed = decide(#","atMostOnce":true"#, crashes: 1) else { throw Unexpected() }
    guard case .buryCrashed = decide(mode: .atMostOnce, crashes: 1) else { throw Unexpected() }
    guard case .deliver = decide(mode: .atMostOnce) else { throw Unexpected() }
  }

  @Test func `devices left uncertain are open again, unless the job is at most once`() throws {
    var state = AttemptState()
    state.open = ["a"]
    state.uncertain = ["b"]
    guard case .deliver(let again) = decide(state: state) else { throw Unexpected() }
    #expect(again.state.open == ["a", "b"])
    guard case .deliver(let never) = decide(#","atMostOnce":true"#, state: state) else { throw Unexpected() }
    #expect(never.state.open == ["a"])
    #expect(never.tally.uncertain == ["b"])
  }

  private struct Unexpected: Error {}
}
