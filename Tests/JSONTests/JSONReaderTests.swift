import JSON
import Testing

struct JSONReaderTests {
  static let valid = [
    "null", "true", " false ", "0", "-0", "12", "-12.5e+3", "1E2", "\"\"", "\"é\"", "[]", "[1,[2],{}]", "{}",
    "{\"a\":1,\"b\":{\"a\":null}}", "\t\r\n[ ]", #""\u0000\ud83d\ude00\/\b\f\n\r\t\\\"""#,
  ]

  static let invalid = [
    "", " ", "nul", "nulll", "tru", "01", "-", "1.", ".5", "1e", "+1", "--1", "0x1", "NaN", "Infinity", "'a'", "\"",
    "\"a", "\"\\\"", "\"\\", "\"\u{1}\"", "\"\0\"", "\"\n\"", #""\x""#, #""\u12""#, #""\u12g4""#, #""\ud800""#,
    #""\udc00""#, #""\ud800\u0041""#, #""\ud800\ud800""#, #""\ud800\n""#, "[", "]", "[1", "[1,", "[1,]", "[,1]",
    "[1 2]", "{",
    "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,}", "{,}", "{a:1}", "{1:1}", "{\"a\" 1}", "[1}", "{\"a\":1]", "1 2",
    "{}x", "\u{FEFF}1", "\u{A0}1",
  ]

  @Test(arguments: valid)
  func `well formed texts are read and skipped`(text: String) throws {
    _ = try JSONValue(parsing: Array(text.utf8))
    var reader = JSONReader(Array(text.utf8))
    try reader.skipValue()
    try reader.end()
  }

  @Test(arguments: invalid)
  func `malformed texts are refused by reading and by skipping`(text: String) {
    #expect(throws: JSONError.self) { try JSONValue(parsing: Array(text.utf8)) }
    #expect(throws: JSONError.self) {
      var reader = JSONReader(Array(text.utf8))
      try reader.skipValue()
      try reader.end()
    }
  }

  @Test func `invalid UTF-8 is refused with its offset`() {
    for bad in [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xE2, 0x82], [0xF4, 0x90, 0x80, 0x80]] as [[UInt8]] {
      #expect(throws: JSONError.invalidUTF8(offset: 1)) {
        try JSONValue(parsing: Array("[\"".utf8) + bad + Array("\"]".utf8))
      }
    }
  }

  @Test func `escapes are decoded`() throws {
    let value = try JSONValue(parsing: Array(#""\u0041\u00e9\ud83d\ude00\u0000\/\n""#.utf8))
    #expect(value == .string("Aé😀\0/\n"))
  }

  @Test func `nesting ends at 64 levels`() throws {
    func nested(_ depth: Int) -> [UInt8] {
      [UInt8](repeating: UInt8(ascii: "["), count: depth) + [UInt8](repeating: UInt8(ascii: "]"), count: depth)
    }
    _ = try JSONValue(parsing: nested(64))
    #expect(throws: JSONError.tooDeep(offset: 64)) { try JSONValue(parsing: nested(65)) }
    #expect(throws: JSONError.tooDeep(offset: 64)) {
      try JSONValue(parsing: [UInt8](repeating: UInt8(ascii: "["), count: 100_000))
    }
  }

  @Test func `a duplicate key is refused, however it is escaped`() {
    #expect(throws: JSONError.duplicateKey("a", offset: 7)) {
      try JSONValue(parsing: Array(#"{"a":1,"\u0061":2}"#.utf8))
    }
  }

  @Test func `integers keep their last digit`() throws {
    for integer in [0, 1, -1, .max, .min, 9_007_199_254_740_993] as [Int64] {
      var reader = JSONReader(Array(String(integer).utf8))
      #expect(try reader.readInt64() == integer)
    }
    for (text, expected) in [("1.0", 1), ("12e2", 1200), ("-0", 0)] as [(String, Int64)] {
      var reader = JSONReader(Array(text.utf8))
      #expect(try reader.readInt64() == expected)
    }
  }

  @Test(arguments: ["1.5", "9223372036854775808", "-9223372036854775809", "1e30", "1e999"])
  func `a number that is not an integer is refused`(text: String) {
    #expect(throws: JSONError.self) {
      var reader = JSONReader(Array(text.utf8))
      _ = try reader.readInt64()
    }
  }

  @Test func `numbers that do not fit an integer are numbers`() throws {
    #expect(try JSONValue(parsing: Array("9223372036854775808".utf8)) == .number(9_223_372_036_854_775_808))
    #expect(throws: JSONError.numberOutOfRange(offset: 0)) { try JSONValue(parsing: Array("1e999".utf8)) }
  }

  @Test func `known keys are found by number, others by name`() throws {
    let keys = JSONKeys(["title", "to", "title2"])
    var reader = JSONReader(Array(#"{"to":1,"t\u006ftle":2,"\u0074itle":3,"titel":4,"":5}"#.utf8))
    try reader.beginObject()
    var found: [JSONKey] = []
    while let key = try reader.nextKey(among: keys) {
      found.append(key)
      try reader.skipValue()
    }
    #expect(found == [.known(1), .unknown("totle"), .known(0), .unknown("titel"), .unknown("")])
  }

  @Test func `another kind of value than expected is named`() throws {
    var reader = JSONReader(Array(" 12".utf8))
    let error = #expect(throws: JSONError.self) { try reader.readString() }
    #expect(error.map { "\($0)" } == "expected a string, found a number at byte 1")
  }

  @Test func `random bytes never trap`() {
    var random = SystemRandomNumberGenerator()
    let alphabet = Array("{}[]\",:\\u0dc1e-. tfn\u{E9}".utf8)
    for _ in 0..<20_000 {
      let count = Int.random(in: 0..<24, using: &random)
      let text = (0..<count).map { _ in alphabet[Int.random(in: alphabet.indices, using: &random)] }
      guard let value = try? JSONValue(parsing: text) else { continue }
      #expect((try? JSONValue(parsing: value.bytes)) == value, "\(text)")
    }
  }
}
