import EventLoop
import Testing

@testable import Chaos

@EventLoop
struct SeatTests {
  @Test func `a worker that is ended as soon as it was started ends with 0`() async throws {
    let seat = try Seat(
      1, redis: nil, apns: try FaultProxy { 0 }, sandbox: try FaultProxy { 0 }, clock: nil,
      environment: ["REDIS_URL": "redis://127.0.0.1:1", "MARTLET_ADMIN_ADDRESS": "off"])
    for isStartedAgain in [true, true, false] { try await seat.stop(andStart: isStartedAgain) }
    #expect(seat.surprises.isEmpty)
  }
}
