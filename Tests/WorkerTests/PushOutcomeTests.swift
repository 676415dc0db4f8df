import APNs
import EventLoop
import Jobs
import TestSupport
import Testing

@testable import Worker

struct PushOutcomeTests {
  @Test func `jobs for a paused route are retried after its next probe, spread out, within about a minute`() {
    #expect(PushOutcome.faultDelay(untilProbe: .seconds(60), random: 0) == .seconds(60))
    #expect(PushOutcome.faultDelay(untilProbe: .seconds(60), random: 0.5) == .milliseconds(67_500))
    #expect(PushOutcome.faultDelay(untilProbe: .zero, random: 0) == .zero)
  }

  @Test func `jobs for a gateway out of reach are not retried all at once`() {
    #expect(PushOutcome.faultDelay(untilProbe: nil, random: 0) == .seconds(5))
    #expect(PushOutcome.faultDelay(untilProbe: nil, random: 0.5) == .milliseconds(7500))
  }

  @Test func `the longer an outage lasts, the more rarely its jobs are looked at, up to every minute or two`() {
    let delay = { (seconds: Int, random: Double) in
      PushOutcome.faultDelay(untilProbe: nil, outage: .seconds(seconds), random: random)
    }
    #expect(delay(8, 0) == .seconds(5))
    #expect(delay(120, 0) == .seconds(30))
    #expect(delay(120, 0.5) == .seconds(45))
    #expect(delay(36_000, 0) == .seconds(60))
  }

  @Test func `a job that expires during a long outage is tried again before`() {
    let delay = { (untilExpiration: Int, random: Double) in
      PushOutcome.faultDelay(
        untilProbe: nil, outage: .seconds(3600), untilExpiration: .seconds(untilExpiration), random: random)
    }
    #expect(delay(40, 0) == .seconds(20))
    #expect(delay(40, 0.5) == .seconds(30))
    #expect(delay(3600, 0) == .seconds(60))
    #expect(delay(4, 0) == .seconds(5))
    #expect(delay(-1, 0) == .seconds(5))
  }

  @Test(arguments: [(403, "X"), (403, "HTTP_403"), (400, "TopicDisallowed"), (429, "TooManyProviderTokenUpdates")])
  func `a refusal of the route uses up no attempt of the job`(status: Int, reason: String) {
    let sent = SendOutcome.answered(APNsAnswer(status: status, reason: reason))
    guard case .open(_, isFault: true) = PushOutcome(sent, removalAllowed: true) else {
      return #expect(Bool(false), "\(status) \(reason)")
    }
  }

  @Test func `a 410 for an unknown reason is a failure of the device`() {
    let sent = SendOutcome.answered(APNsAnswer(status: 410, reason: "X", timestamp: 5))
    #expect(PushOutcome(sent, removalAllowed: true) == .failed)
  }

  @Test(arguments: [(0, ""), (400, "id")])
  func `a push that was never sent has no apns-id`(status: Int, id: String) {
    let sent = SendOutcome.answered(APNsAnswer(status: status, reason: "NotAnAPNsToken"))
    #expect(EndedPush(token: "t", apnsID: "id", outcome: .failed, sent: sent).result.apnsID == id)
  }
}
