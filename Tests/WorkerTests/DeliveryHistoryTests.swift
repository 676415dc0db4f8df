import EventLoop
import Jobs
import PushModel
import Registry
import Testing

@testable import Queue
@testable import Worker

/// The history that an attempt leaves.
@EventLoop
struct DeliveryHistoryTests {
  private nonisolated static func token(_ character: Character) -> String { String(repeating: character, count: 64) }
  private static let job = #"{"id":"j","to":{"tokens":["\#(token("a"))","\#(token("b"))"]},"title":"T"}"#

  /// Ends an attempt and returns the events of the record's history.
  private func events(_ delivery: Delivery, _ outcome: JobOutcome, at now: Int64 = 100) -> [HistoryEvent] {
    delivery.recordOutcome(outcome, at: now)
    delivery.recordHistory(outcome, at: now)
    return delivery.tally.result.history.entries.map(\.event)
  }

  private func delivery(_ tokens: String..., state: AttemptState = AttemptState()) throws -> Delivery {
    let delivery = try Delivery.testing(Self.job, state: state)
    delivery.resolve(to: tokens.map { Device(token: DeviceToken($0)) })
    return delivery
  }

  private func end(_ token: String, _ outcome: PushOutcome, _ status: Int, _ reason: String?, in delivery: Delivery) {
    delivery.tally.record(EndedPush(token: DeviceToken(token), outcome: outcome, status: status, reason: reason))
  }

  private static let accepted = JobOutcome(status: .accepted, exit: .acknowledge)
  private static let failed = JobOutcome(status: .failed, exit: .acknowledge)
  private static let retry = JobOutcome(
    status: .retrying, exit: .retry(delay: .seconds(2), countsAttempt: true, reason: "InternalServerError"))

  @Test func `a job that is accepted at once has no history`() throws {
    let delivery = try delivery(Self.token("a"))
    end(Self.token("a"), .accepted, 200, nil, in: delivery)
    #expect(events(delivery, Self.accepted) == [])
    #expect(delivery.state.history.isEmpty)
  }

  @Test func `an accepted job tells which entries were no devices of its addressee`() throws {
    let delivery = try delivery(Self.token("a"))
    let removals = ["x", "y"].map { Removal(entry: Array($0.utf8), reason: .malformedToken) }
    delivery.addRemovals(removals, found: 1)
    end(Self.token("a"), .accepted, 200, nil, in: delivery)
    let events = events(delivery, Self.accepted)
    #expect(
      events.contains(.resolved(devices: 1, removed: [ReasonCount(reason: "malformed_token", count: 2)])))
    #expect(events.last == .ended(.accepted, reason: nil))
  }

  @Test func `an accepted job tells that a null was sent, once`() throws {
    let job = #"{"to":{"token":"\#(Self.token("a"))"},"title":"T","data":{"a":null}}"#
    let delivery = try Delivery.testing(job)
    end(Self.token("a"), .accepted, 200, nil, in: delivery)
    #expect(events(delivery, Self.accepted).filter { $0 == .nullInPayload } == [.nullInPayload])
    var state = AttemptState()
    state.history.append(1, .nullInPayload)
    state.result = delivery.tally.result
    #expect(try Delivery.testing(job, state: state).events.isEmpty)
  }

  @Test func `a refused push is told with its device and status`() throws {
    let delivery = try delivery(Self.token("a"))
    end(Self.token("a"), .stale(unregisteredSince: nil), 410, "Unregistered", in: delivery)
    var answers = HistoryAnswers(refused: [ReasonCount(reason: "Unregistered", count: 1)])
    answers.device = "aaaaaaaa…"
    answers.status = 410
    #expect(
      events(delivery, Self.failed) == [
        .claimed(worker: "w", attempt: 1, waited: nil), .resolved(devices: 1, removed: []), .answered(answers),
        .ended(.failed, reason: nil),
      ])
  }

  @Test func `the next attempt continues the history and tells only its own answers`() throws {
    let first = try delivery(Self.token("a"), Self.token("b"))
    end(Self.token("a"), .failed, 400, "PayloadEmpty", in: first)
    first.tally.leaveOpen(DeviceToken(Self.token("b")), reason: "InternalServerError", after: .zero, isFault: false)
    let before = events(first, Self.retry, at: 100)
    #expect(
      before.suffix(2) == [
        .answered(
          HistoryAnswers(
            refused: [ReasonCount(reason: "PayloadEmpty", count: 1)],
            open: [ReasonCount(reason: "InternalServerError", count: 1)])),
        .retry(at: 2100, reason: "InternalServerError"),
      ])
    let element = first.nextElement(after: .complete, countsAttempt: true, recordAuthor: nil)
    let second = try delivery(Self.token("b"), state: AttemptState(json: Envelope(element: element).state))
    end(Self.token("b"), .accepted, 200, nil, in: second)
    var answers = HistoryAnswers(accepted: 1)
    answers.device = "bbbbbbbb…"
    answers.status = 200
    let after = events(second, JobOutcome(status: .partial, exit: .acknowledge))
    #expect(Array(after.prefix(before.count)) == before)
    #expect(after.suffix(2) == [.answered(answers), .ended(.partial, reason: nil)])
  }

  @Test func `a push without an answer is told once`() throws {
    let delivery = try delivery(Self.token("a"))
    end(Self.token("a"), .uncertain, 0, "Uncertain: reset", in: delivery)
    var answers = HistoryAnswers(open: [ReasonCount(reason: "Uncertain: reset", count: 1)])
    answers.device = "aaaaaaaa…"
    #expect(events(delivery, Self.retry).contains(.answered(answers)))
  }

  @Test func `a job of a dead worker tells how many died`() throws {
    let claim = Claim.testing(Self.job, crashes: 2)
    guard case .deliver(let delivery) = Intake.testing().decide(claim, worker: "w", now: 0) else {
      Issue.record("it is delivered")
      return
    }
    let first = events(delivery, Self.retry)
    #expect(first.first == .takenOver(crashes: 2))
    let state = AttemptState(
      json: Envelope(element: delivery.nextElement(after: .complete, countsAttempt: true, recordAuthor: nil)).state)
    let again = Claim.testing(Self.job, crashes: 2, state: state)
    guard case .deliver(let next) = Intake.testing().decide(again, worker: "w", now: 0) else { return }
    #expect(events(next, Self.failed).count { $0 == .takenOver(crashes: 2) } == 1)
  }

  @Test func `a decision of a policy is told with its numbers`() throws {
    let delivery = try Delivery.testing(#"{"id":"j","to":{"instance":"i"},"class":"action_needed"}"#)
    var policy = HistoryPolicy(policy: "test", className: "action_needed", decision: .suppress, rule: "limit")
    policy.limit = 3
    policy.used = 3
    policy.seconds = 300
    policy.until = 77
    delivery.add(.policy(policy))
    let events = events(delivery, JobOutcome(status: .suppressed, exit: .acknowledge, rule: .limit))
    #expect(events.contains(.policy(policy)))
    #expect(events.last == .ended(.suppressed, reason: "limit"))
  }

  @Test func `a cancelled job tells that its open devices got nothing`() throws {
    let delivery = try delivery(Self.token("a"))
    delivery.tally.leaveOpen(DeviceToken(Self.token("a")), reason: "cancelled", after: .zero, isFault: true)
    let events = events(delivery, .cancelled(after: .complete))
    #expect(events.last == .ended(.cancelled, reason: nil))
    let open = events.contains { event in
      if case .answered(let answers) = event { !answers.open.isEmpty } else { false }
    }
    #expect(!open)
  }

  @Test func `an attempt that was postponed before it began is kept for the next one`() throws {
    let delivery = try delivery()
    let outcome = JobOutcome.postponed(for: .seconds(1), because: JobOutcome.appIsBusy)
    #expect(events(delivery, outcome).last == .postponed(until: 1100, reason: JobOutcome.appIsBusy, times: 1))
    let element = delivery.nextElement(after: outcome.extent, countsAttempt: false, recordAuthor: nil)
    #expect(AttemptState(json: Envelope(element: element).state).history == delivery.tally.result.history)
  }
}

struct NoteAllowanceTests {
  private static let second: UInt64 = 1_000_000_000

  @Test func `an outage writes a thousand notes, then ten a second`() {
    var allowance = NoteAllowance(now: 5)
    #expect((0..<5000).count { _ in allowance.take(now: 5) } == NoteAllowance.maximum)
    #expect((0..<5000).count { _ in allowance.take(now: 5 + Self.second) } == 10)
    #expect((0..<5000).count { _ in allowance.take(now: 5 + 1000 * Self.second) } == NoteAllowance.maximum)
  }
}
