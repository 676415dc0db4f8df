import EventLoop
import Jobs
import PushModel
import Registry
import Testing

@testable import Queue
@testable import Worker

/// What one attempt leaves for the next.
@EventLoop
struct DeliveryTests {
  private static let job = #"{"id":"j","to":{"tokens":["\#(token("a"))","\#(token("b"))"]},"title":"T"}"#

  private nonisolated static func token(_ character: Character) -> String { String(repeating: character, count: 64) }

  private func state(after delivery: Delivery, _ extent: AttemptExtent = .complete) -> AttemptState {
    AttemptState(
      json: Envelope(element: delivery.nextElement(after: extent, countsAttempt: true, recordAuthor: "w 1")).state)
  }

  private func accept(_ token: String, in delivery: Delivery) {
    delivery.tally.record(EndedPush(token: DeviceToken(token), outcome: .accepted, status: 200))
  }

  @Test func `a job that was put off has left a record, which its end replaces`() throws {
    let job = #"{"id":"j","to":{"user":"a"},"title":"t"}"#
    let first = try Delivery.testing(job)
    #expect(first.leftNoRecord)
    // Postponed before anything was sent: it has no result, but a record says that it is tried again.
    let element = first.nextElement(after: .untouched, countsAttempt: false, recordAuthor: "w 1")
    let state = AttemptState(json: Envelope(element: element).state)
    #expect(!state.hasResult)
    #expect(try !Delivery.testing(job, state: state).leftNoRecord)
  }

  @Test func `the next attempt tries only the devices left open`() throws {
    let delivery = try Delivery.testing(Self.job)
    accept(Self.token("a"), in: delivery)
    delivery.tally.leaveOpen(DeviceToken(Self.token("b")), reason: "busy", after: .zero, isFault: false)
    let next = state(after: delivery)
    #expect(next.open == [DeviceToken(Self.token("b"))])
    #expect(next.result?.accepted == 1)
    #expect(next.recordAuthor == "w 1")
    #expect(next.isReleased)
    let second = try Delivery.testing(Self.job, state: next)
    let devices = ["a", "b"].map { Device(token: DeviceToken(Self.token($0))) }
    #expect(second.stillOpen(devices).map(\.token.text) == [Self.token("b")])
    #expect(second.tally.result.accepted == 1)
  }

  @Test func `an attempt cut short before anything was tried leaves all open`() throws {
    let delivery = try Delivery.testing(Self.job)
    #expect(state(after: delivery, .cutShort).open == nil)
  }

  @Test func `a broadcast cut short leaves its cursor and the devices open before it`() throws {
    let delivery = try Delivery.testing(#"{"id":"j","to":{"app":"com.example"},"title":"T"}"#)
    delivery.state.cursor = "00:a"
    delivery.tally.leaveOpen(DeviceToken(Self.token("b")), reason: "busy", after: .zero, isFault: false)
    let next = state(after: delivery, .cutShort)
    #expect(next.cursor == "00:a")
    #expect(next.open == [DeviceToken(Self.token("b"))])
  }

  @Test func `an attempt that touched nothing leaves the state as it was`() throws {
    var state = AttemptState()
    state.open = [DeviceToken(Self.token("b"))]
    state.cursor = "00:a"
    let delivery = try Delivery.testing(Self.job, state: state)
    delivery.tally.leaveOpen(DeviceToken(Self.token("a")), reason: "down", after: .zero, isFault: true)
    let next = self.state(after: delivery, .untouched)
    #expect(next.open == [DeviceToken(Self.token("b"))])
    #expect(next.cursor == "00:a")
    #expect(next.result == nil)
  }

  @Test func `a broadcast resumes from progress that is further, and from no other`() throws {
    var state = AttemptState()
    state.cursor = "05:a"
    state.recordAuthor = "w 1"
    let delivery = try Delivery.testing(#"{"id":"j","to":{"app":"com.example"},"title":"T"}"#, state: state)
    var progress = AttemptState()
    progress.cursor = "04:z"
    delivery.resume(from: progress)
    #expect(delivery.state.cursor == "05:a")
    progress.cursor = "06:a"
    delivery.resume(from: progress)
    #expect(delivery.state.cursor == "06:a")
    #expect(delivery.state.recordAuthor == "w 1")
  }

  @Test func `only a counted attempt raises the number of attempts`() throws {
    let delivery = try Delivery.testing(Self.job)
    for (countsAttempt, attempts) in [(true, 1), (false, 0)] {
      let element = delivery.nextElement(after: .complete, countsAttempt: countsAttempt, recordAuthor: nil)
      #expect(Envelope(element: element).attempts == attempts)
    }
  }

  @Test func `an invalid job is buried as the producer wrote it`() throws {
    let delivery = try Delivery.testing(Self.job)
    delivery.tally.leaveOpen(DeviceToken(Self.token("b")), reason: "busy", after: .zero, isFault: false)
    delivery.tally.badJobReason = "BadTopic"
    #expect(delivery.buriedEnvelope(after: .complete, recordAuthor: nil).state.isEmpty)
    delivery.tally.badJobReason = nil
    #expect(!delivery.buriedEnvelope(after: .complete, recordAuthor: nil).state.isEmpty)
  }

  @Test func `owners with an open device are neither reached nor missed before the end`() throws {
    let delivery = try Delivery.testing(Self.job)
    let devices = [
      Device(token: DeviceToken(Self.token("a")), username: "alice"),
      Device(token: DeviceToken(Self.token("b")), username: "bob"),
    ]
    delivery.resolve(to: devices)
    accept(Self.token("a"), in: delivery)
    delivery.addReached(devices[0], by: .accepted)
    delivery.tally.leaveOpen(DeviceToken(Self.token("b")), reason: "busy", after: .zero, isFault: false)
    #expect(delivery.owners(reached: true, isFinal: false) == ["alice"])
    #expect(delivery.owners(reached: false, isFinal: false) == [])
    #expect(delivery.owners(reached: false, isFinal: true) == ["bob"])
  }
}
