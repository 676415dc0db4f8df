import Testing

@testable import APNs

struct RouteRefusalsTests {
  private static let minute = RouteRefusals.proofNanoseconds

  private func blames(
    _ devices: [Int], provenAt: UInt64, at now: UInt64, mayBeOfDevice: Bool = false
  ) -> [RouteRefusals.Blame] {
    var refusals = RouteRefusals()
    return devices.map { refusals.record($0, mayBeOfDevice: mayBeOfDevice, provenAt: provenAt, now: now) }
  }

  @Test func `a route that was never accepted is refused at once`() {
    #expect(blames([1], provenAt: 0, at: 5) == [.route])
  }

  @Test func `a route that was accepted within a minute needs three devices`() {
    #expect(blames([1, 1, 1, 2, 3], provenAt: 5, at: 6) == [.unknown, .unknown, .unknown, .unknown, .route])
    #expect(blames([1], provenAt: 5, at: 5 + Self.minute) == [.route])
  }

  @Test func `what may be of a device needs three devices at any time`() {
    #expect(blames([1, 1, 2, 3], provenAt: 0, at: 5, mayBeOfDevice: true) == [.unknown, .unknown, .unknown, .route])
  }

  @Test func `a device is blamed when others were accepted since its last refusal`() {
    var refusals = RouteRefusals()
    #expect(refusals.record(1, mayBeOfDevice: false, provenAt: 5, now: 6) == .unknown)
    #expect(refusals.record(1, mayBeOfDevice: false, provenAt: 5, now: 7) == .unknown)
    #expect(refusals.record(1, mayBeOfDevice: false, provenAt: 8, now: 9) == .device)
    #expect(refusals.record(2, mayBeOfDevice: false, provenAt: 8, now: 10) == .unknown)
    #expect(refusals.record(3, mayBeOfDevice: false, provenAt: 8, now: 11) == .unknown)
  }

  @Test func `the devices that are remembered have a bound`() {
    var refusals = RouteRefusals()
    for device in 0..<1000 {
      let now = UInt64(2 * device + 2)
      #expect(refusals.record(device, mayBeOfDevice: false, provenAt: now - 1, now: now) == .unknown)
    }
  }
}
