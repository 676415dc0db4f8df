import JSON
import Testing

@testable import Events

struct EventTests {
  private let device = EventDevice(
    token: "aa", user: "alice", app: "com.example.app", environment: "production", platform: "ios")

  private func text(_ event: Event?) -> String { event.map { String(decoding: $0.json, as: UTF8.self) } ?? "" }

  @Test func `a new device is registered`() {
    #expect(
      text(Event.change(of: device, from: nil, at: 5))
        == #"{"type":"token.registered","at":5,"data":{"token":"aa","user":"alice","app":"com.example.app","environment":"production","platform":"ios"}}"#
    )
  }

  @Test func `a device that is registered again unchanged is no event`() {
    #expect(Event.change(of: device, from: device, at: 5) == nil)
  }

  @Test func `a device with another app is registered`() {
    var before = device
    before.app = "com.example.old"
    #expect(Event.change(of: device, from: before, at: 5)?.type == .tokenRegistered)
  }

  @Test func `a device tells its kind and its phone, and is registered with another kind`() {
    var voip = device
    (voip.kind, voip.deviceID) = ("voip", "iphone-1")
    #expect(Event.change(of: voip, from: device, at: 5)?.type == .tokenRegistered)
    #expect(
      text(Event.change(of: voip, from: nil, at: 5))
        == #"{"type":"token.registered","at":5,"data":{"token":"aa","user":"alice","app":"com.example.app","environment":"production","platform":"ios","kind":"voip","deviceId":"iphone-1"}}"#
    )
  }

  @Test func `a token of a Live Activity tells which`() {
    var update = device
    (update.kind, update.activity) = ("activity", "order-7")
    #expect(
      text(Event.change(of: update, from: nil, at: 5))
        == #"{"type":"token.registered","at":5,"data":{"token":"aa","user":"alice","app":"com.example.app","environment":"production","platform":"ios","kind":"activity","activity":"order-7"}}"#
    )
  }

  @Test func `a correction tells the environment before`() {
    var sandbox = device
    sandbox.environment = "sandbox"
    #expect(
      text(.corrected(sandbox, from: "production", at: 5))
        == #"{"type":"device.corrected","at":5,"data":{"token":"aa","user":"alice","app":"com.example.app","environment":"sandbox","platform":"ios","from":"production"}}"#
    )
  }

  @Test func `a device of nobody that gets an owner is registered, not transferred`() {
    var before = device
    before.user = ""
    #expect(Event.change(of: device, from: before, at: 5)?.type == .tokenRegistered)
  }

  @Test func `a device that another user takes names both`() {
    var before = device
    before.user = "bob"
    #expect(
      text(Event.change(of: device, from: before, at: 5))
        == #"{"type":"token.transferred","at":5,"data":{"token":"aa","app":"com.example.app","environment":"production","platform":"ios","from":"bob","to":"alice"}}"#
    )
  }

  @Test func `a removal has its reason`() {
    #expect(
      text(.removed(EventDevice(token: "aa", user: "alice"), reason: "Unregistered", at: 5))
        == #"{"type":"token.removed","at":5,"data":{"token":"aa","user":"alice","reason":"Unregistered"}}"#)
  }

  @Test func `a dead letter is dead or uncertain`() {
    let job = EventJob(id: "j", queue: "push:jobs")
    #expect(
      text(.dead(job, reason: "not JSON", attempts: 1, at: 5))
        == #"{"type":"job.dead","at":5,"data":{"id":"j","queue":"push:jobs","reason":"not JSON","attempts":1}}"#)
    #expect(Event.dead(job, reason: "Uncertain", attempts: 1, isUncertain: true, at: 5).type == .jobUncertain)
  }

  @Test func `hostile text in an event is escaped`() throws {
    let event = Event.dead(EventJob(id: "j", queue: "q"), reason: "\"}\n<b>\u{0}", attempts: 1, at: 5)
    #expect(try JSONValue(parsing: event.json)["data"]?["reason"]?.string == "\"}\n<b>\u{0}")
  }
}
