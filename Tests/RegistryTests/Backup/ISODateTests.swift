import Registry
import Testing

struct ISODateTests {
  @Test(arguments: [
    (0, "1970-01-01T00:00:00.000Z"), (1_701_424_800_007, "2023-12-01T10:00:00.007Z"),
    (951_782_400_000, "2000-02-29T00:00:00.000Z"), (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
  ])
  func `a date comes back as it was`(milliseconds: Int64, text: String) {
    #expect(ISODate.text(milliseconds) == text)
    #expect(ISODate.milliseconds(text) == milliseconds)
  }

  @Test(arguments: [
    ("2023-12-01T10:00:00Z", 1_701_424_800_000), ("2023-12-01T10:00:00.5Z", 1_701_424_800_500),
    ("2023-12-01T10:00:00.123456789Z", 1_701_424_800_123), ("2023-12-01T11:30:00+01:30", 1_701_424_800_000),
    ("2023-12-01T09:00:00.000-01:00", 1_701_424_800_000),
  ])
  func `other spellings of a date are read`(text: String, milliseconds: Int64) {
    #expect(ISODate.milliseconds(text) == milliseconds)
  }

  @Test(arguments: [
    "", "yesterday", "2023-12-01", "2023-12-01T10:00:00", "2023-02-30T10:00:00Z", "2023-13-01T10:00:00Z",
    "2023-12-01T25:00:00Z", "2023-12-01T10:00:00.Z", "2023-12-01T10:00:00+1:00", "2023-12-01T10:00:00Zx",
    "1969-12-31T23:59:59Z", "2023-12-01T10:00:60Z", "2023-12-01T10:00:00+24:00", "２０２３-12-01T10:00:00Z",
  ])
  func `what is no date is none`(text: String) {
    #expect(ISODate.milliseconds(text) == nil)
  }

  @Test func `times that no date can say have no text`() {
    #expect(ISODate.text(-1) == nil)
    #expect(ISODate.text(.max) == nil)
  }
}
