import EventLoop
import Redis
import Testing

@testable import Jobs
@testable import Queue

struct LeasePhaseTests {
  private static let fresh = UInt64(QueueLimits.leaseFreshness.nanoseconds)

  @Test func `a lease is held and fresh from its first confirmed heartbeat`() {
    var phase = LeasePhase.joining
    #expect(!phase.isHeld && !phase.isConfirmed && !phase.isFresh(at: 0))
    phase.confirm(sentAt: 100)
    #expect(phase.isHeld && phase.isConfirmed)
    #expect(phase.isFresh(at: 100 + Self.fresh - 1))
    #expect(!phase.isFresh(at: 100 + Self.fresh))
  }

  @Test func `an answer that was overtaken does not make the lease older`() {
    var phase = LeasePhase.confirmed(since: 200)
    phase.confirm(sentAt: 100)
    #expect(phase == .confirmed(since: 200))
  }

  @Test func `after a lost connection the lease is fresh, but not confirmed until the next heartbeat`() {
    var phase = LeasePhase.confirmed(since: 100)
    phase.loseConnection()
    #expect(phase == .unconfirmed(since: 100))
    #expect(phase.isHeld && !phase.isConfirmed && phase.isFresh(at: 100))
    phase.confirm(sentAt: 300)
    #expect(phase == .confirmed(since: 300))
  }

  @Test(arguments: [LeasePhase.confirmed(since: 100), .unconfirmed(since: 100)])
  func `a fenced worker joins again`(phase: LeasePhase) {
    var phase = phase
    phase.fence()
    #expect(phase == .joining)
    #expect(!phase.isFresh(at: 100))
  }

  @Test func `nothing happens to a lease that has ended`() {
    var phase = LeasePhase.confirmed(since: 100)
    phase.leave()
    phase.confirm(sentAt: 200)
    phase.loseConnection()
    phase.fence()
    #expect(phase == .left)
    #expect(!phase.isHeld && !phase.isFresh(at: 200))
  }

  @Test func `an answer to a heartbeat has a state, a length and the seal`() {
    let answer = HeartbeatAnswer(.array([.integer(1), .integer(7), .bytes(Array("s3al".utf8))]))
    #expect(answer?.state == .renewed)
    #expect(answer?.inflightLength == 7)
    #expect(answer?.seal == "s3al")
    #expect(HeartbeatAnswer(.array([.integer(3), .integer(0), .null])) == nil)
    #expect(HeartbeatAnswer(.null) == nil)
  }
}
