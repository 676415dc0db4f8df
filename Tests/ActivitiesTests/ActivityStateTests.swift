import Jobs
import PushModel
import TestSupport
import Testing

@testable import Activities

struct ActivityStateTests {
  private var state = ActivityState()
  private var now: Int64 = 1_800_000_000_000

  private func job(
    _ id: String, at timestamp: Int64, enqueuedAt: Int64? = nil, sequence: String = "", user: String? = nil,
    event: String = "update", nonce: String? = nil, isShared: Bool = true
  ) throws -> ActivityJob {
    let to = event == "start" ? #"{"user":"\#(user ?? "alice")"}"# : #"{"activity":"match"}"#
    let start = event == "start" ? #","id":"match","attributesType":"Match","attributes":{}"# : ""
    let shared = isShared && event != "start" && user == nil ? #","shared":true"# : ""
    let json =
      #"{"to":\#(to),"title":"T","liveActivity":{"event":"\#(event)","contentState":{"by":"\#(id)"}\#(start)\#(shared)}}"#
    guard case .activity(let activity, let notification) = try Job(parsing: Array(json.utf8)).content else {
      throw JobError(reason: "not a Live Activity")
    }
    return ActivityJob(
      id: id, nonce: nonce ?? "n-" + id, queue: "q", user: user,
      order: ActivityOrder(timestamp: timestamp, enqueuedAt: enqueuedAt ?? timestamp * 1000, sequence: sequence),
      activity, notification, priority: 5, expiresAt: nil)
  }

  private func device(_ token: String, phone: String? = "p", of user: String? = "alice") -> ActivityDevice {
    ActivityDevice(token: DeviceToken(token), phone: phone, user: user)
  }

  private func phones(_ names: String..., of user: String = "alice") -> [ActivityDevice] {
    names.map { device("start-" + $0, phone: $0, of: user) }
  }

  private func keys(_ names: String...) -> Set<String> { Set(names.flatMap { phones($0) }.map(\.phone)) }

  private func reached(_ token: String) -> [String] { [device(token).token, device(token).phone] }

  private mutating func announce(_ job: ActivityJob) -> ActivityAnswer { state.decide(.announce(job), now: now) }

  /// The timestamp with which the job's state is sent; nil if it is not sent.
  private mutating func sentAt(_ job: ActivityJob) -> Int64? {
    if case .send(let newest, _, _, _, _) = announce(job) { newest.timestamp } else { nil }
  }

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
    _ = state.decide(.settle(nonce: "n-update", reached: ["t"]), now: now)
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
    _ = state.decide(.wait(nonce: "n-end"), now: now)
    let again = try job("end", at: 200, event: "end", nonce: "n-again")
    #expect(sentAt(again) == 201)
    #expect(announce(try job("end", at: 200, event: "end")) == .superseded(by: "end"))
    _ = state.decide(.settle(nonce: "n-again", reached: reached("t")), now: now)
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
    #expect(state.decide(.giveBack(nonce: "n-first", phones: Array(keys("a", "c"))), now: now) == .done)
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
    #expect(state.decide(.wait(nonce: "n-a"), now: now) == .done)
    let waiting = WaitingJob(id: "a", queue: "q")
    #expect(state.decide(.refresh(device("t"), nonce: "n-r"), now: now) == .wake(waiting))
    guard case .send(_, _, _, let former, _) = announce(try job("b", at: 200)) else {
      Issue.record("the newer state is not sent")
      return
    }
    #expect(former == waiting)
    #expect(state.decide(.wait(nonce: "n-a"), now: now) == .superseded(by: "b"))
  }

  @Test mutating func `a token gets the newest state once, when its job has ended`() throws {
    #expect(state.decide(.refresh(device("t"), nonce: "n-r"), now: now) == .done)
    _ = announce(try job("a", at: 100))
    #expect(state.decide(.refresh(device("t"), nonce: "n-r"), now: now) == .later)
    _ = state.decide(.settle(nonce: "n-a", reached: ["other"]), now: now)
    guard case .newest(let newest) = state.decide(.refresh(device("t"), nonce: "n-r"), now: now)
    else {
      Issue.record("the token gets no state")
      return
    }
    #expect(newest.jobID == "a")
    #expect(String(decoding: newest.payload, as: UTF8.self).contains(#""content-state":{"by":"a"}"#))
    // The app registers the token again meanwhile.
    #expect(state.decide(.refresh(device("t"), nonce: "n-s"), now: now) == .later)
    _ = state.decide(.settleRefresh(nonce: "n-r", of: newest.nonce, reached: reached("t")), now: now)
    #expect(state.decide(.refresh(device("t"), nonce: "n-r"), now: now) == .superseded(by: "a"))
  }

  @Test mutating func `an end is not sent to a second token of a phone, an update is`() throws {
    _ = announce(try job("a", at: 100))
    _ = state.decide(.settle(nonce: "n-a", reached: reached("t")), now: now)
    guard case .newest = state.decide(.refresh(device("u"), nonce: "n-r"), now: now) else {
      Issue.record("the new token gets no state")
      return
    }
    _ = announce(try job("end", at: 200, event: "end"))
    #expect(state.all?.isEnd == true)
    _ = state.decide(.settle(nonce: "n-end", reached: reached("u")), now: now)
    let answer = state.decide(.refresh(device("v"), nonce: "n-r"), now: now)
    #expect(answer == .superseded(by: "end"))
  }

  @Test mutating func `the state of a job that is lost is sent by others after a while`() throws {
    _ = announce(try job("a", at: 100))
    now += ActivityState.maximumOpenTime
    guard case .newest = state.decide(.refresh(device("t"), nonce: "n-r"), now: now) else {
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

  // MARK: - Whose it is

  /// The users whose token would get the newest state of all.
  private func audience(of users: String...) -> [String] {
    users.filter { state.newest(for: device("t", of: $0)) != nil }
  }

  @Test mutating func `a state is for the users for whom a start was sent, and for no one else who registers`() throws {
    _ = state.decide(.start(try job("s", at: 100, user: "alice", event: "start"), devices: phones("a")), now: now)
    guard case .send(_, let audience, _, _, _) = announce(try job("a", at: 200, isShared: false)) else {
      Issue.record("the state is not sent")
      return
    }
    #expect(audience == .users(["alice"], formerStarts: []))
    #expect(audience.includes(device("t")) && audience.includes(device("t", phone: nil)))
    // Eve knows the id of the activity, and that of alice's phone.
    #expect(!audience.includes(device("e", phone: "a", of: "eve")) && !audience.includes(device("e", of: nil)))
    _ = state.decide(.settle(nonce: "n-a", reached: []), now: now)
    #expect(state.decide(.refresh(device("e", phone: "a", of: "eve"), nonce: "n-e"), now: now) == .done)
    #expect(self.audience(of: "alice", "eve") == ["alice"])
  }

  @Test mutating func `a state that names a user is theirs without a start, and one that is shared is everyone's`()
    throws
  {
    #expect(sentAt(try job("own", at: 100, user: "bob")) == 100)
    #expect(audience(of: "alice", "bob") == ["bob"])
    #expect(sentAt(try job("shared", at: 200)) == 200)
    #expect(audience(of: "alice", "bob", "eve") == ["alice", "bob", "eve"])
    // Without a start, and with nobody named, it is nobody's.
    #expect(sentAt(try job("nobody", at: 300, isShared: false)) == 300)
    #expect(audience(of: "alice", "eve") == [])
    #expect(state.newest(for: device("t", of: "bob")) == nil)
  }

  @Test mutating func `an end that was not for a user does not end the activity of that user`() throws {
    _ = state.decide(.start(try job("s", at: 100, user: "alice", event: "start"), devices: phones("a")), now: now)
    #expect(sentAt(try job("end", at: 300, event: "end", isShared: false)) == 300)
    #expect(sentAt(try job("own", at: 200, user: "bob")) == 200)
    #expect(announce(try job("late", at: 400, user: "alice")) == .superseded(by: "end"))
  }

  @Test mutating func `a phone that another user claims as theirs is started all the same`() throws {
    let (eve, alice) = (try job("e", at: 100, user: "eve", event: "start"), try job("a", at: 101, event: "start"))
    _ = state.decide(.start(eve, devices: phones("phone-of-alice", of: "eve")), now: now)
    let answer = state.decide(.start(alice, devices: phones("phone-of-alice")), now: now)
    #expect(answer == .start(timestamp: 101, phones: keys("phone-of-alice")))
  }

  /// Until they end, activities that an earlier version has started are those of its phones.
  @Test mutating func `a state without users keeps the phones on which it was started`() throws {
    state = ActivityState(json: Array(#"{"starts":{"phone:a":"n","phone:b":"n"}}"#.utf8))
    _ = announce(try job("u", at: 100, isShared: false))
    #expect(state.newest(for: device("t", phone: "a")) != nil)
    #expect(state.newest(for: device("e", phone: "c", of: "eve")) == nil)
    #expect(state.newest(for: device("e", phone: nil, of: "eve")) == nil)
    let again = try job("s", at: 101, user: "alice", event: "start")
    #expect(
      state.decide(.start(again, devices: phones("a", "c")), now: now) == .start(timestamp: 101, phones: keys("c")))
    // A phone whose user is known now does not make the others strangers.
    state = ActivityState(json: state.json())
    #expect(state.newest(for: device("t", phone: "b", of: "bob")) != nil)
    // The token of a start says nothing about that of the activity.
    state = ActivityState(json: Array(#"{"starts":{"0F1E":"n"}}"#.utf8))
    _ = announce(try job("u", at: 100, isShared: false))
    #expect(state.newest(for: device("t", phone: nil)) != nil)
    #expect(state.newest(for: device("t", phone: "a")) == nil)
  }

  // MARK: - What waits for a push in flight

  /// The job of a token's refresh, with a push in flight, and the end of the activity, which waits for it.
  private mutating func endThatWaits() throws -> ActivityJob {
    _ = announce(try job("a", at: 100))
    _ = state.decide(.settle(nonce: "n-a", reached: []), now: now)
    guard case .newest = state.decide(.refresh(device("t"), nonce: "n-r"), now: now) else {
      throw JobError(reason: "the token gets no state")
    }
    let end = try job("end", at: 200, event: "end")
    #expect(announce(end) == .later)
    return end
  }

  @Test(arguments: [
    ActivityRequest.settleRefresh(nonce: "n-r", of: "n-a", reached: ["t", "p"]),
    .settleRefresh(nonce: "n-r", of: "n-a", reached: []),
    .pause(nonce: "n-r"),
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
    _ = state.decide(.settle(nonce: "n-a", reached: []), now: now)
    for token in ["t", "u"] { _ = state.decide(.refresh(device(token), nonce: "n-" + token), now: now) }
    let end = try job("end", at: 200, event: "end")
    #expect(announce(end) == .later)
    _ = state.decide(.settleRefresh(nonce: "n-t", of: "n-a", reached: []), now: now)
    #expect(announce(end) == .later)
    // Its next attempt finds the end.
    _ = state.decide(.refresh(device("u"), nonce: "n-u"), now: now)
    #expect(sentAt(end) == 200)
  }

  @Test mutating func `a retry of a state lets its end go first`() throws {
    _ = announce(try job("a", at: 100))
    let end = try job("end", at: 200, event: "end")
    #expect(announce(end) == .later)
    _ = state.decide(.pause(nonce: "n-a"), now: now)
    #expect(sentAt(end) == 200)
  }

  @Test mutating func `a refresh that APNs refused is no promise`() throws {
    _ = announce(try job("a", at: 100))
    _ = state.decide(.settle(nonce: "n-a", reached: []), now: now)
    _ = state.decide(.refresh(device("t"), nonce: "n-r"), now: now)
    #expect(state.decide(.refresh(device("t"), nonce: "n-s"), now: now) == .later)
    _ = state.decide(.settleRefresh(nonce: "n-r", of: "n-a", reached: []), now: now)
    guard case .newest = state.decide(.refresh(device("t"), nonce: "n-s"), now: now) else {
      Issue.record("the token gets no state")
      return
    }
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
    _ = state.decide(.settle(nonce: "n-all", reached: ["t1", "t2"]), now: now)
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
