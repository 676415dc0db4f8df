import EventLoop
import PushModel
import Redis
import RegistrySupport
import Testing

@testable import Registry

@EventLoop
struct RefusalNoteTests {
  private static let note = RefusalNote(
    reason: "BadDeviceToken", status: 400, at: 7, jobID: "j", topic: "com.a", environment: .sandbox)

  @Test func `a note is read as it was written`() {
    #expect(RefusalNote(parsing: Self.note.json()) == Self.note)
  }

  @Test(arguments: ["", "{}", "[]", #"{"at":1}"#, #"{"at":1,"environment":"moon"}"#])
  func `other text is no note`(text: String) {
    #expect(RefusalNote(parsing: Array(text.utf8)) == nil)
  }

  @Test func `a long reason is cut`() {
    let note = RefusalNote(
      reason: String(repeating: "x", count: 100_000), status: 1, at: 1, jobID: "", topic: "", environment: .production)
    #expect(note.json().count < 300)
  }

  @Test func `a note replaces the one before and expires`() async throws {
    let fixture = try await Fixture()
    let token = fixture.token("noted")
    for reason in ["InternalServerError", "BadDeviceToken"] {
      var note = Self.note
      note.reason = reason
      fixture.registry.keep(note, of: DeviceToken(token))
    }
    let key = RegistryKeys.refusal(DeviceToken(token))
    let stored = try await fixture.run("GET", key).bytes
    #expect(stored.flatMap(RefusalNote.init(parsing:)) == Self.note)
    fixture.registry.keep(Self.note, of: DeviceToken(token), removedFrom: "noted")
    let removal = try await fixture.run("GET", RegistryKeys.removal("noted")).bytes.flatMap(RefusalNote.init(parsing:))
    #expect(removal?.token?.text == token)
    #expect(removal?.reason == Self.note.reason)
    let left = try await fixture.run("TTL", key).integer ?? 0
    #expect((1...Int64(RefusalNote.lifetime)).contains(left))
  }
}
