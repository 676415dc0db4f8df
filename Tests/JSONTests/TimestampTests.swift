import JSON
import Testing

struct TimestampTests {
  @Test(
    arguments: [
      (0, "1970-01-01T00:00:00.000Z"), (1_701_424_800_007, "2023-12-01T10:00:00.007Z"),
      (951_782_399_999, "2000-02-28T23:59:59.999Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
      (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
    ] as [(Int64, String)])
  func `a time is written with milliseconds and in UTC, and read as it was`(milliseconds: Int64, text: String) {
    #expect(Timestamp.text(milliseconds) == text)
    #expect(Timestamp.milliseconds(text) == milliseconds)
  }

  @Test func `a written time is read as the same time, on every day`() {
    // 40,000 days cover 1970 to 2079; the odd hours, minutes and milliseconds differ from day to day.
    for day in 0..<40_000 as Range<Int64> {
      let time = day * 86_400_000 + day * 7_919 % 86_400_000
      #expect(Timestamp.milliseconds(Timestamp.text(time)) == time)
    }
  }

  @Test(
    arguments: [
      (0, 0), (-5, -5), (1_704_448_800, 1_704_448_800_000), (1_704_448_800_123, 1_704_448_800_123),
      (1_704_448_800_123_456, 1_704_448_800_123), (1_704_448_800_123_456_789, 1_704_448_800_123),
      (.max, 9_223_372_036_854),
    ] as [(Int64, Int64)])
  func `a unix time is read in the unit that it must be in`(time: Int64, milliseconds: Int64) {
    #expect(Timestamp.milliseconds(of: time) == milliseconds)
  }

  @Test func `times outside the range are clamped`() {
    #expect(Timestamp.text(-1) == "1970-01-01T00:00:00.000Z")
    #expect(Timestamp.text(.max) == "9999-12-31T23:59:59.999Z")
  }

  @Test(
    arguments: [
      ("2023-12-01T10:00:00Z", 1_701_424_800_000), ("2023-12-01T10:00:00.5Z", 1_701_424_800_500),
      ("2023-12-01T10:00:00.123456789Z", 1_701_424_800_123), ("2023-12-01T11:30:00+01:30", 1_701_424_800_000),
      ("2023-12-01T09:00:00.000-01:00", 1_701_424_800_000), ("2023-12-01T10:00Z", 1_701_424_800_000),
    ] as [(String, Int64)])
  func `other spellings of a time are read`(text: String, milliseconds: Int64) {
    #expect(Timestamp.milliseconds(text) == milliseconds)
  }

  @Test(arguments: [
    "", "yesterday", "2023-12-01", "2023-12-01T10:00:00", "2023-02-30T10:00:00Z", "2023-13-01T10:00:00Z",
    "2023-12-01T25:00:00Z", "2023-12-01T10:00:00.Z", "2023-12-01T10:00:00+1:00", "2023-12-01T10:00:00Zx",
    "1969-12-31T23:59:59Z", "2023-12-01T10:00:60Z", "2023-12-01T10:00:00+24:00", "２０２３-12-01T10:00:00Z",
  ])
  func `malformed times are refused`(text: String) {
    #expect(Timestamp.milliseconds(text) == nil)
  }
}
