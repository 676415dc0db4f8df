import Testing

@testable import JSON

struct NumberRangeTests {
  private func value(_ text: String) throws -> JSONValue { try JSONValue(parsing: Array(text.utf8)) }

  @Test(arguments: [
    "-1", "281474976710657", "9223372036854775807", "-9223372036854775808", "1e3", "1.5", "\"1\"", "true",
  ])
  func `what cannot be a count is none`(text: String) throws {
    #expect(try value(text).count == nil)
  }

  @Test(arguments: ["-1", "253402300800000", "9223372036854775807", "-9223372036854775808", "1e3", "null"])
  func `what cannot be a time is none`(text: String) throws {
    #expect(try value(text).time == nil)
  }

  @Test(arguments: ["-1", "-0.1", "1e308", "9223372036854775807", "[1]"])
  func `what cannot be a rate is none`(text: String) throws {
    #expect(try value(text).rate == nil)
  }

  @Test func `numbers in their range are read`() throws {
    #expect(try value("281474976710656").count == 1 << 48)
    #expect(try value("253402300799999").time == Timestamp.maximum)
    #expect(try (value("1.5").rate, value("3").rate, value("1e3").rate) == (1.5, 3, 1000))
  }

  @Test(arguments: ["", "+1", "-1", " 1", "1 ", "0x1", "1.0", "65536", "٣", "99999999999999999999"])
  func `a text that is not digits in the range is no number`(text: String) {
    #expect(text.integer(in: 0...65_535) == nil)
  }

  @Test func `a text of digits is a number`() {
    #expect("065535".integer(in: 0...UInt16.max) == 65_535)
    #expect("18446744073709551615".integer(in: 0...UInt64.max) == .max)
    #expect("1.5".number(in: 0...2) == 1.5)
    for text in ["nan", "inf", "1e999", "2.1", ""] { #expect(text.number(in: 0...2) == nil) }
  }

  @Test(arguments: [Double.nan, .infinity, -.infinity, 1e308, -1, 11])
  func `a number that does not fit becomes no integer`(number: Double) {
    #expect(number.integer(in: 0...10) == nil)
  }
}
