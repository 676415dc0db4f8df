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
    #expect(audience == .users(["alice"], formerStarts: []))
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
}
