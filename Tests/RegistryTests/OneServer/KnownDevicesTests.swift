import Testing

@testable import Registry

/// What a process assumes about devices that it changes.
struct KnownDevicesTests {
  private static let token = "token-known-0123456789abcdef"

  private func device(_ text: String, _ token: String = token) -> StoredDevice { StoredDevice(token, Array(text.utf8)) }

  @Test func `the last change counts, also after all have ended`() {
    var known = KnownDevices()
    #expect(known.device(Self.token) == nil)
    let first = known.begin(device("1"))
    let second = known.begin(device("2"))
    known.end(Self.token, round: first, found: nil)
    #expect(known.device(Self.token) == device("2"))
    #expect(known.changing(Self.token) == device("2"))
    known.end(Self.token, round: second, found: nil)
    #expect(known.changing(Self.token) == nil)
    #expect(known.device(Self.token) == device("2"))
  }

  @Test func `one refused change is followed by others, which do not undo what was decided since`() {
    var known = KnownDevices()
    let first = known.begin(device("1"))
    let second = known.begin(device("2"))
    known.end(Self.token, round: first, found: device("other"))
    #expect(known.device(Self.token) == device("other"))
    let third = known.begin(device("3"))
    // It was decided before the first was refused.
    known.end(Self.token, round: second, found: device("other"))
    #expect(known.device(Self.token) == device("3"))
    known.end(Self.token, round: third, found: nil)
    #expect(known.device(Self.token) == device("3"))
  }

  @Test func `only some devices are remembered, and all that are being changed`() {
    var known = KnownDevices()
    let round = known.begin(device("busy"))
    for number in 0...KnownDevices.maximumIdle {
      let token = "token-\(number)-0123456789abcdef"
      known.end(token, round: known.begin(device("x", token)), found: nil)
    }
    #expect(known.device("token-0-0123456789abcdef") == nil)
    #expect(known.device(Self.token) == device("busy"))
    known.end(Self.token, round: round, found: nil)
    #expect(known.device(Self.token) == device("busy"))
  }
}
