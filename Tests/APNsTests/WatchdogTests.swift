import Testing

@testable import APNs

struct WatchdogTests {
  private static let second: UInt64 = 1_000_000_000
  private let second = second

  private func watchdog() -> Watchdog {
    var watchdog = Watchdog(limits: .init(), openedAt: 0)
    watchdog.receivedSettings()
    return watchdog
  }

  @Test func `a connection without SETTINGS is closed`() {
    var watchdog = Watchdog(limits: .init(), openedAt: 0)
    #expect(watchdog.tick(now: 5 * second, inFlight: 0) == .wait)
    #expect(watchdog.tick(now: 6 * second, inFlight: 0) != .wait)
  }

  @Test func `silence after a write leads to one PING, and silence after that closes`() {
    var watchdog = watchdog()
    watchdog.wrote(now: 10 * second)
    #expect(watchdog.tick(now: 15 * second, inFlight: 1) == .wait)
    #expect(watchdog.tick(now: 16 * second, inFlight: 1) == .ping)
    #expect(watchdog.tick(now: 20 * second, inFlight: 1) == .wait)
    #expect(watchdog.tick(now: 22 * second, inFlight: 1) == .close(.noPong))
  }

  @Test func `a pong keeps the connection`() {
    var watchdog = watchdog()
    watchdog.wrote(now: 10 * second)
    #expect(watchdog.tick(now: 16 * second, inFlight: 1) == .ping)
    watchdog.received(now: 17 * second, stillInFlight: true)
    watchdog.receivedPong()
    #expect(watchdog.tick(now: 22 * second, inFlight: 1) == .wait)
    #expect(watchdog.tick(now: 23 * second, inFlight: 1) == .ping)
  }

  @Test func `later writes do not hide an old silence`() {
    var watchdog = watchdog()
    watchdog.wrote(now: 10 * second)
    watchdog.wrote(now: 15 * second)
    #expect(watchdog.tick(now: 16 * second, inFlight: 2) == .ping)
  }

  @Test func `an idle connection is pinged once a minute`() {
    var watchdog = watchdog()
    watchdog.received(now: 10 * second, stillInFlight: false)
    #expect(watchdog.tick(now: 70 * second, inFlight: 0) == .wait)
    #expect(watchdog.tick(now: 71 * second, inFlight: 0) == .ping)
  }

  @Test func `a write after a long idle time does not lead to a PING at once`() {
    var watchdog = watchdog()
    watchdog.received(now: 10 * second, stillInFlight: false)
    watchdog.wrote(now: 60 * second)
    #expect(watchdog.tick(now: 61 * second, inFlight: 1) == .wait)
  }
}
