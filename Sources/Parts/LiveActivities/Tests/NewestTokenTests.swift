import PushModel
import Registry
import Testing

@testable import LiveActivities

/// To which push-to-start tokens of a phone a start goes.
struct NewestTokenTests {
  private func device(
    _ token: String, phone: String?, user: String = "alice", at updatedAt: Int64 = 1, hasComeBack: Bool = false
  ) -> Device {
    Device(
      token: DeviceToken(token), username: Username(user), updatedAt: updatedAt, kind: .pushtostart, deviceID: phone,
      replaced: hasComeBack ? ReplacedMarks([token]) : ReplacedMarks())
  }

  @Test func `a start goes to the newest token of each phone, and to all that name none`() {
    let devices = [
      device("a", phone: "p"), device("b", phone: "p", at: 3), device("c", phone: "p", at: 2), device("d", phone: nil),
      device("e", phone: nil), device("f", phone: "q"), device("g", phone: "p", user: "bob"),
    ]
    #expect(devices.newestOfPhones.map(\.token.text) == ["b", "d", "e", "f", "g"])
  }

  @Test func `two phones with one id both get it`() {
    let devices = [device("a", phone: "p", at: 1, hasComeBack: true), device("b", phone: "p", at: 2)]
    #expect(devices.newestOfPhones == devices)
  }
}
