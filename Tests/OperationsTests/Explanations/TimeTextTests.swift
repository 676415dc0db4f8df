import Testing
@testable import Operations

struct TimeTextTests {
  private let text = TimeText(now: 1_795_264_200_000, localTime: LocalTime { _ in 3600 })

  @Test(arguments: [
    (0, "0 s"), (-5, "0 s"), (250, "250 ms"), (12_900, "12 s"), (60_000, "1 min"), (200_000, "3 min 20 s"),
    (7_500_000, "2 h 5 min"), (86_400_000, "1 day"), (266_400_000, "3 days 2 h"),
  ])
  func `a duration has at most two units`(milliseconds: Int64, expected: String) {
    #expect(TimeText.duration(milliseconds) == expected)
  }

  @Test func `a time is local, with its date unless it is today`() {
    #expect(text.clock(1_795_264_200_000) == "13:30:00")
    #expect(text.clock(1_795_264_200_000 + 86_400_000) == "2026-11-22 13:30:00")
  }

  @Test func `a time is told in relation to now`() {
    #expect(text.relative(text.now + 12_000) == "in 12 s")
    #expect(text.relative(text.now - 200_000) == "3 min 20 s ago")
    #expect(text.relative(text.now + 10) == "now")
    #expect(text.relative(.min).hasSuffix(" days 7 h ago"))
  }

  @Test(arguments: [Int64.min, .max, -1, Int64.min + 1_795_264_200_000])
  func `no number breaks a time`(milliseconds: Int64) {
    #expect(!text.clock(milliseconds).isEmpty)
    #expect(!text.relative(milliseconds).isEmpty)
  }
}
