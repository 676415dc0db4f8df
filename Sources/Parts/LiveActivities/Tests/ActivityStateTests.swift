import Jobs
import PushModel
import Testing
import TestSupport
@testable import LiveActivities

struct ActivityStateTests: ActivityTests {
  var state = ActivityState()
  var now: Int64 = 1_800_000_000_000

  @Test mutating func `the newest state wins, whichever comes first`() throws {
    let (old, new) = (try job("old", at: 100), try job("new", at: 200))
    #expect(sentAt(new) == 200)
    #expect(announce(old) == .superseded(by: "new"))
    #expect(sentAt(try job("newer", at: 300)) == 300)
    #expect(announce(new) == .superseded(by: "newer"))
  }

  @Test mutating func `a job that is tried again keeps its timestamp`() throws {
    let job = try job("a", at: 100)
    #expect(sentAt(job) == 100)
    #expect(sentAt(job) == 100)
  }

  @Test mutating func `within one second the one that was enqueued later wins, and gets a later timestamp`() throws {
    let first = try job("first", at: 100, enqueuedAt: 100_001)
    let second = try job("second", at: 100, enqueuedAt: 100_900)
    #expect(sentAt(first) == 100)
    #expect(sentAt(second) == 101)
    #expect(announce(first) == .superseded(by: "second"))
    #expect(sentAt(try job("third", at: 100, enqueuedAt: 100_900, sequence: "1")) == 102)
    #expect(sentAt(second) == nil)
  }

  @Test mutating func `after an end nothing is sent but a newer start`() throws {
    #expect(sentAt(try job("end", at: 200, event: "end")) == 200)
    #expect(announce(try job("late", at: 300)) == .superseded(by: "end"))
    #expect(announce(try job("end2", at: 300, event: "end")) == .superseded(by: "end"))
    let old = state.decide(
      .start(try job("old", at: 100, user: "alice", event: "start"), devices: phones("d")), now: now)
    #expect(old == .superseded(by: "end"))
    let new = state.decide(
      .start(try job("new", at: 400, user: "alice", event: "start"), devices: phones("d")), now: now)
    #expect(new == .start(timestamp: 400, phones: keys("d")))
    #expect(sentAt(try job("after", at: 500)) == 500)
  }

  @Test mutating func `an end waits for the pushes of the state before, but not for ever`() throws {
    let (update, end) = (try job("update", at: 100), try job("end", at: 200, event: "end"))
    _ = announce(update)
    #expect(announce(end) == .later)
    #expect(announce(try job("late", at: 300)) == .superseded(by: "end"))
    _ = state.decide(.settle(nonce: "n-update", turn: turn, reached: ["t"]), now: now)
    #expect(sentAt(end) == 200)
    state = ActivityState()
    _ = announce(update)
    #expect(announce(end) == .later)
    // Its next attempt: nothing of it is in flight.
    #expect(announce(update) == .superseded(by: "end"))
    #expect(sentAt(end) == 200)
    state = ActivityState()
    _ = announce(update)
    #expect(announce(end) == .later)
    now += ActivityState.maximumWait
    #expect(sentAt(end) == 200)
  }

  @Test mutating func `an end that a producer repeats while it waits is sent, as it has replaced the first`() throws {
    _ = announce(try job("end", at: 200, event: "end"))
    _ = state.decide(.wait(nonce: "n-end", turn: turn), now: now)
    let again = try job("end", at: 200, event: "end", nonce: "n-again")
    #expect(sentAt(again) == 201)
    #expect(announce(try job("end", at: 200, event: "end")) == .superseded(by: "end"))
    _ = state.decide(.settle(nonce: "n-again", turn: turn, reached: reached("t")), now: now)
    #expect(announce(try job("end", at: 200, event: "end", nonce: "n-third")) == .superseded(by: "end"))
  }

  @Test mutating func `a start goes to each device once, and again by the same job only`() throws {
    let first = try job("first", at: 100, user: "alice", event: "start")
    let second = try job("second", at: 101, user: "alice", event: "start")
    #expect(
      state.decide(.start(first, devices: phones("a", "b")), now: now) == .start(timestamp: 100, phones: keys("a", "b"))
    )
    #expect(state.decide(.start(first, devices: phones("a")), now: now) == .start(timestamp: 100, phones: keys("a")))
    #expect(state.decide(.start(second, devices: phones("a", "b")), now: now) == .duplicate)
    #expect(
      state.decide(.start(second, devices: phones("b", "c")), now: now) == .start(timestamp: 101, phones: keys("c")))
    #expect(state.decide(.giveBack(nonce: "n-first", turn: turn, phones: Array(keys("a", "c"))), now: now) == .done)
    #expect(
      state.decide(.start(second, devices: phones("a", "b")), now: now) == .start(timestamp: 101, phones: keys("a")))
    #expect(announce(try job("before", at: 99)) == .superseded(by: "first"))
  }

  @Test mutating func `an update of the second of the start is shown after it`() throws {
    let start = try job("start", at: 100, user: "alice", event: "start")
    _ = state.decide(.start(start, devices: phones("a")), now: now)
    #expect(sentAt(try job("update", at: 100, enqueuedAt: 100_500)) == 101)
  }

  @Test mutating func `a state waits for a token, and a newer one takes its place`() throws {
    _ = announce(try job("a", at: 100))
    #expect(state.decide(.wait(nonce: "n-a", turn: turn), now: now) == .done)
    let waiting = WaitingJob(id: "a", queue: "q")
    #expect(state.decide(.refresh(device("t"), nonce: "n-r", turn: turn), now: now) == .wake(waiting))
    guard case .send(_, _, _, let former, _) = announce(try job("b", at: 200)) else {
      Issue.record("the newer state is not sent")
      return
    }
    #expect(former == waiting)
    #expect(state.decide(.wait(nonce: "n-a", turn: turn), now: now) == .superseded(by: "b"))
  }

  @Test mutating func `a token gets the newest state once, when its job has ended`() throws {
    #expect(state.decide(.refresh(device("t"), nonce: "n-r", turn: turn), now: now) == .done)
    _ = announce(try job("a", at: 100))
    #expect(state.decide(.refresh(device("t"), nonce: "n-r", turn: turn), now: now) == .later)
    _ = state.decide(.settle(nonce: "n-a", turn: turn, reached: ["other"]), now: now)
    guard case .newest(let newest) = state.decide(.refresh(device("t"), nonce: "n-r", turn: turn), now: now)
    else {
      Issue.record("the token gets no state")
      return
    }
    #expect(newest.jobID == "a")
    #expect(String(decoding: newest.payload, as: UTF8.self).contains(#""content-state":{"by":"a"}"#))
    // The app registers the token again meanwhile.
    #expect(state.decide(.refresh(device("t"), nonce: "n-s", turn: turn), now: now) == .later)
    _ = state.decide(
      .settleRefresh(nonce: "n-r", turn: AttemptTurn(), of: newest.nonce, reached: reached("t")), now: now)
    #expect(state.decide(.refresh(device("t"), nonce: "n-r", turn: turn), now: now) == .superseded(by: "a"))
  }

  @Test mutating func `an end is not sent to a second token of a phone, an update is`() throws {
    _ = announce(try job("a", at: 100))
    _ = state.decide(.settle(nonce: "n-a", turn: turn, reached: reached("t")), now: now)
    guard case .newest = state.decide(.refresh(device("u"), nonce: "n-r", turn: turn), now: now) else {
      Issue.record("the new token gets no state")
      return
    }
    _ = announce(try job("end", at: 200, event: "end"))
    #expect(state.all?.isEnd == true)
    _ = state.decide(.settle(nonce: "n-end", turn: turn, reached: reached("u")), now: now)
    let answer = state.decide(.refresh(device("v"), nonce: "n-r", turn: turn), now: now)
    #expect(answer == .superseded(by: "end"))
  }

  @Test mutating func `the state of a job that is lost is sent by others after a while`() throws {
    _ = announce(try job("a", at: 100))
    now += ActivityState.maximumOpenTime
    guard case .newest = state.decide(.refresh(device("t"), nonce: "n-r", turn: turn), now: now) else {
      Issue.record("the token gets no state")
      return
    }
  }

  @Test mutating func `a user may have a state of their own, which is compared with that of all`() throws {
    #expect(sentAt(try job("all", at: 100)) == 100)
    #expect(sentAt(try job("alice", at: 200, user: "alice")) == 200)
    #expect(sentAt(try job("bob", at: 150, user: "bob")) == 150)
    #expect(state.newest(for: device("t"))?.jobID == "alice")
    #expect(state.newest(for: device("t", of: "carol"))?.jobID == "all")
    guard case .send(let newest, _, let others, _, _) = announce(try job("all2", at: 180)) else {
      Issue.record("the state of all is not sent")
      return
    }
    #expect(newest.timestamp == 201)
    #expect(others == ["alice"])
    #expect(state.newest(for: device("t", of: "bob"))?.jobID == "all2")
    #expect(announce(try job("alice2", at: 190, user: "alice")) == .superseded(by: "alice"))
  }

  @Test mutating func `more than one update in three seconds is noted`() throws {
    for number in 0..<ActivityState.budget {
      guard case .send(_, _, _, _, false) = announce(try job("\(number)", at: 100 + Int64(number))) else {
        Issue.record("update \(number) is too much")
        return
      }
    }
    guard case .send(_, _, _, _, true) = announce(try job("more", at: 200)) else {
      Issue.record("too many updates are not noted")
      return
    }
    now += 61_000
    guard case .send(_, _, _, _, false) = announce(try job("later", at: 300)) else {
      Issue.record("updates count for more than a minute")
      return
    }
  }

  @Test mutating func `everything survives its JSON`() throws {
    _ = state.decide(.start(try job("start", at: 100, user: "alice", event: "start"), devices: phones("a")), now: now)
    _ = announce(try job("all", at: 100))
    _ = announce(try job("alice", at: 200, user: "alice"))
    _ = state.decide(.settle(nonce: "n-all", turn: turn, reached: ["t1", "t2"]), now: now)
    #expect(ActivityState(json: state.json()) == state)
    #expect(ActivityState(json: Array("nonsense".utf8)) == ActivityState())
  }

  /// Jobs of one activity come in any order, twice, and after retries: what is sent never goes back.
  @Test(arguments: 1...50) func `each state that is sent is newer than all before`(seed: UInt64)
    throws
  {
    var random = SeededGenerator(seed: seed)
    var state = ActivityState()
    let jobs = try (0..<30).map { number in
      try job("\(number)", at: 100 + Int64.random(in: 0...8, using: &random), enqueuedAt: 100_000 + Int64(number))
    }
    var newest: ActivityOrder?
    var sent: Int64 = 0
    for _ in 0..<200 {
      let job = jobs[Int.random(in: 0..<jobs.count, using: &random)]
      switch state.decide(.announce(job), now: now) {
      case .send(let state, _, _, _, _):
        let timestamp = state.timestamp
        #expect(newest.map { job.order >= $0 } ?? true)
        #expect(job.order == newest ? timestamp == sent : timestamp > sent)
        (newest, sent) = (job.order, timestamp)
      case .superseded: #expect(job.order < newest ?? job.order)
      default: Issue.record("unexpected answer")
      }
    }
  }
}
