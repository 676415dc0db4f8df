import EventLoop
import Testing

@testable import Worker

struct LanePaceTests {
  /// Ends an interval in which this many pushes ended, and expects that the app is slow or not.
  private func expect(
    _ isSlow: Bool, _ pace: inout LanePace, ended: Int, isCrowded: Bool = true, wasSlow: Bool = false,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    pace.ended = ended
    pace.isCrowded = isCrowded
    let found = pace.endInterval(isActive: true, waitingJobs: 128, wasSlow: wasSlow)
    #expect(found == isSlow, sourceLocation: sourceLocation)
  }

  @Test func `an app is slow after two intervals with too many jobs and too few ends`() {
    var pace = LanePace()
    expect(false, &pace, ended: 0)
    expect(true, &pace, ended: 639)
    expect(false, &pace, ended: 640)
    #expect(pace.endedPerSecond == 1280)
  }

  @Test func `an app without more jobs than may wait is not slow`() {
    var pace = LanePace()
    for _ in 0..<4 { expect(false, &pace, ended: 0, isCrowded: false) }
    expect(false, &pace, ended: 0)
  }

  @Test func `a slow app recovers when its pushes end quickly for two intervals, not when many time out at once`() {
    var pace = LanePace()
    expect(true, &pace, ended: 0, wasSlow: true)
    expect(true, &pace, ended: 5000, wasSlow: true)
    expect(true, &pace, ended: 0, wasSlow: true)
    expect(true, &pace, ended: 5000, wasSlow: true)
    expect(false, &pace, ended: 5000, wasSlow: true)
  }

  @Test func `a slow app stays slow while jobs wait, and is not once none does`() {
    var pace = LanePace()
    expect(true, &pace, ended: 0, isCrowded: false, wasSlow: true)
    let isSlow = pace.endInterval(isActive: true, waitingJobs: 0, wasSlow: true)
    #expect(!isSlow)
  }

  @Test func `intervals without pushes are counted`() {
    var pace = LanePace()
    for _ in 0..<3 { _ = pace.endInterval(isActive: false, waitingJobs: 0, wasSlow: false) }
    #expect(pace.idleIntervals == 3)
    expect(false, &pace, ended: 1)
    #expect(pace.idleIntervals == 0)
  }
}

@EventLoop
struct BroadcastRoomTests {
  @Test func `an app may have eight broadcasts, and fewer as other apps take the room`() {
    var (total, apps) = (0, 0)
    while total < Broadcasts.maximumTotal {
      var own = 0
      while own < Broadcasts.room(ofOneApp: total), total < Broadcasts.maximumTotal {
        own += 1
        total += 1
      }
      #expect(apps >= 16 || own == 8)
      apps += 1
    }
    #expect(apps > 40)
  }
}
