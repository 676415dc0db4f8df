import Jobs
import PushModel
import Testing
import TestSupport
@testable import LiveActivities

/// Whose the states of a Live Activity are.
struct ActivityAudienceTests: ActivityTests {
  var state = ActivityState()
  var now: Int64 = 1_800_000_000_000

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
    #expect(audience == .users(["alice"]))
    #expect(audience.includes(device("t")) && audience.includes(device("t", phone: nil)))
    // Eve knows the id of the activity, and that of alice's phone.
    #expect(!audience.includes(device("e", phone: "a", of: "eve")) && !audience.includes(device("e", of: nil)))
    _ = state.decide(.settle(nonce: "n-a", turn: turn, reached: []), now: now)
    #expect(state.decide(.refresh(device("e", phone: "a", of: "eve"), nonce: "n-e", turn: turn), now: now) == .done)
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

  @Test mutating func `a phone and its user are told apart, also if their names contain colons`() throws {
    let (bob, team) = (device("1", phone: "X:team", of: "bob"), device("2", phone: "X", of: "team:bob"))
    for (user, device) in [("bob", bob), ("team:bob", team)] {
      let start = try job(user, at: 100, user: user, event: "start")
      #expect(
        state.decide(.start(start, devices: [device]), now: now) == .start(timestamp: 100, phones: [device.phone]))
    }
    _ = announce(try job("end", at: 200, event: "end"))
    _ = state.decide(.settle(nonce: "n-end", turn: turn, reached: [bob.token, bob.phone]), now: now)
    guard case .newest = state.decide(.refresh(team, nonce: "n-t", turn: turn), now: now) else {
      Issue.record("the end that bob got is not sent to team:bob")
      return
    }
  }

  /// 2.0.0 joined a phone and its user by a colon.
  @Test mutating func `a start that an earlier version noted keeps others out, unless it may be another user's`() throws
  {
    let (bob, team) = (device("1", phone: "X:team", of: "bob"), device("2", phone: "X", of: "team:bob"))
    let again = try job("again", at: 101, event: "start")
    func answers(_ members: String) -> [ActivityAnswer] {
      [bob, team].map { device in
        let json = #"{"starts":{"phone:X:team:bob":"n"},"members":[\#(members)]}"#
        var state = ActivityState(json: ActivityState(json: Array(json.utf8)).json())
        return state.decide(.start(again, devices: [device]), now: now)
      }
    }
    let free = [bob, team].map { ActivityAnswer.start(timestamp: 101, phones: [$0.phone]) }
    #expect(answers(#""bob""#) == [.duplicate, free[1]])
    #expect(answers(#""team:bob","b""#) == [free[0], .duplicate])
    #expect(answers(#""bob","team:bob""#) == free)
    #expect(answers("") == free)
  }

  @Test(arguments: 1...20)
  mutating func `each phone of each user is started once, with names that are hard to tell apart`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let users = HardNames.users(26)
    var (started, owners): (Set<HardName>, Set<HardName>) = ([], [])
    for number in 0..<150 {
      let (user, phone) = (users[random.below(users.count)], HardNames.phone(random.below(6)))
      let start = try job("\(number)", at: 100 + Int64(number), event: "start")
      let answer = state.decide(.start(start, devices: [device("s", phone: phone, of: user.form)]), now: now)
      #expect((answer == .duplicate) != started.insert(HardName("\(phone)\n\(user)")).inserted)
      owners.insert(user)
      state = ActivityState(json: state.json())
    }
    _ = announce(try job("update", at: 1000, isShared: false))
    #expect(users.filter { state.newest(for: device("t", of: $0.form)) != nil } == users.filter(owners.contains))
  }
}
