import Testing

@testable import Jobs

struct TimestampTextTests {
  @Test(
    arguments: [
      (0, "1970-01-01T00:00:00.000Z"), (1_701_424_800_000, "2023-12-01T10:00:00.000Z"),
      (951_782_399_999, "2000-02-28T23:59:59.999Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
      (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
      (-1, "1970-01-01T00:00:00.000Z"), (.max, "9999-12-31T23:59:59.999Z"),
    ] as [(Int64, String)])
  func `a time is written with milliseconds and in UTC`(milliseconds: Int64, text: String) {
    #expect(Timestamp.text(milliseconds) == text)
  }

  @Test func `what is written is read as the same time, on every day`() {
    // 40,000 days cover 1970 to 2079; the odd hours, minutes and milliseconds differ from day to day.
    for day in 0..<40_000 as Range<Int64> {
      let time = day * 86_400_000 + day * 7_919 % 86_400_000
      #expect(Timestamp.milliseconds(Timestamp.text(time)) == time)
    }
  }
}
