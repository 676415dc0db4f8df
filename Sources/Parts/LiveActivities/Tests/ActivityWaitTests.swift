import Jobs
import PushModel
import Testing
import TestSupport
@testable import LiveActivities

/// What waits for a push in flight, and what a worker says late that was taken for dead.
struct ActivityWaitTests: ActivityTests {
  var state = ActivityState()
  var now: Int64 = 1_800_000_000_000

  /// The job of a token's refresh, with a push in flight, and the end of the activity, which waits for it.
  private mutating func endThatWaits() throws -> ActivityJob {
    _ = announce(try job("a", at: 100))
    _ = state.decide(.settle(nonce: "n-a", turn: turn, reached: []), now: now)
    guard case .newest = state.decide(.refresh(device("t"), nonce: "n-r", turn: turn), now: now) else {
      throw JobError(reason: "the token gets no state")
    }
    let end = try job("end", at: 200, event: "end")
    #expect(announce(end) == .later)
    return end
  }

  @Test(arguments: [
    ActivityRequest.settleRefresh(nonce: "n-r", turn: AttemptTurn(), of: "n-a", reached: ["t", "p"]),
    .settleRefresh(nonce: "n-r", turn: AttemptTurn(), of: "n-a", reached: []),
    .pause(nonce: "n-r", turn: AttemptTurn()),
  ])
  mutating func `however a push of a token's refresh ends, the end that waits for it is sent`(
    _ request: ActivityRequest
  )
    throws
  {
    let end = try endThatWaits()
    #expect(announce(end) == .later)
    _ = state.decide(request, now: now)
    #expect(sentAt(end) == 200)
  }

  @Test mutating func `an end waits for each job that has a push in flight`() throws {
    _ = announce(try job("a", at: 100))
    _ = state.decide(.settle(nonce: "n-a", turn: turn, reached: []), now: now)
    for token in ["t", "u"] { _ = state.decide(.refresh(device(token), nonce: "n-" + token, turn: turn), now: now) }
    let end = try job("end", at: 200, event: "end")
    #expect(announce(end) == .later)
    _ = state.decide(.settleRefresh(nonce: "n-t", turn: AttemptTurn(), of: "n-a", reached: []), now: now)
    #expect(announce(end) == .later)
    // Its next attempt finds the end.
    _ = state.decide(.refresh(device("u"), nonce: "n-u", turn: turn), now: now)
    #expect(sentAt(end) == 200)
  }

  @Test mutating func `a retry of a state lets its end go first`() throws {
    _ = announce(try job("a", at: 100))
    let end = try job("end", at: 200, event: "end")
    #expect(announce(end) == .later)
    _ = state.decide(.pause(nonce: "n-a", turn: AttemptTurn()), now: now)
    #expect(sentAt(end) == 200)
  }

  @Test mutating func `a refresh that APNs refused is no promise`() throws {
    _ = announce(try job("a", at: 100))
    _ = state.decide(.settle(nonce: "n-a", turn: turn, reached: []), now: now)
    _ = state.decide(.refresh(device("t"), nonce: "n-r", turn: turn), now: now)
    #expect(state.decide(.refresh(device("t"), nonce: "n-s", turn: turn), now: now) == .later)
    _ = state.decide(.settleRefresh(nonce: "n-r", turn: AttemptTurn(), of: "n-a", reached: []), now: now)
    guard case .newest = state.decide(.refresh(device("t"), nonce: "n-s", turn: turn), now: now) else {
      Issue.record("the token gets no state")
      return
    }
  }

  /// The earlier attempt of a job goes on at any time, and its successor ends as if it had not.
  @Test(arguments: ["settle", "wait", "pause", "announce"], [0, 1, 2])
  mutating func `what an earlier attempt says late changes nothing that a later one has said`(late: String, after: Int)
    throws
  {
    let successor = AttemptTurn(requeues: 0, attempts: 0, crashes: 1)
    let (first, second) = (try job("a", at: 100), try job("a", at: 100, turn: successor))
    _ = announce(first)
    for step in 0...2 {
      if step == 1 { _ = announce(second) }
      if step == 2 { _ = state.decide(.settle(nonce: "n-a", turn: successor, reached: ["own"]), now: now) }
      guard step == after else { continue }
      let before = state
      switch late {
      case "settle": _ = state.decide(.settle(nonce: "n-a", turn: turn, reached: ["sent"]), now: now + 1)
      case "wait": _ = state.decide(.wait(nonce: "n-a", turn: turn), now: now + 1)
      case "pause": _ = state.decide(.pause(nonce: "n-a", turn: turn), now: now + 1)
      default: _ = announce(first)
      }
      guard step > 0 else { continue }
      // What APNs has accepted stays so, whoever says it.
      #expect(late != "settle" || state.all?.reached.isSuperset(of: ["sent"]) == true)
      state.all?.reached = before.all?.reached ?? []
      #expect(state == before)
    }
    #expect(state.all?.phase == .settled)
  }

  @Test mutating func `an earlier attempt at a start does not give back what a later one has started`() throws {
    let successor = AttemptTurn(requeues: 0, attempts: 0, crashes: 1)
    let first = try job("s", at: 100, user: "alice", event: "start")
    let second = try job("s", at: 100, user: "alice", event: "start", turn: successor)
    for job in [first, second] { _ = state.decide(.start(job, devices: phones("a")), now: now) }
    _ = state.decide(.giveBack(nonce: "n-s", turn: turn, phones: Array(keys("a"))), now: now)
    #expect(Set(state.starts.keys) == keys("a"))
    state = ActivityState(json: state.json())
    _ = state.decide(.giveBack(nonce: "n-s", turn: successor, phones: Array(keys("a"))), now: now)
    #expect(state.starts.isEmpty)
  }

  @Test mutating func `a state that waited before the start is not sent after it`() throws {
    _ = announce(try job("early", at: 100, isShared: false))
    _ = state.decide(.wait(nonce: "n-early", turn: turn), now: now)
    _ = state.decide(.start(try job("s", at: 200, user: "alice", event: "start"), devices: phones("a")), now: now)
    #expect(announce(try job("early", at: 100, isShared: false)) == .superseded(by: "s"))
    #expect(state.newest(for: device("t")) == nil)
  }
}
