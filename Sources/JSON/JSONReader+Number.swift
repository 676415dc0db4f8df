extension JSONReader {
  struct ScannedNumber {
    let range: Range<Int>
    let isPlain: Bool
  }

  /// Greater integers with a fraction or an exponent are not exact.
  private static let exactIntegers: ClosedRange<Int64> = -9_007_199_254_740_992...9_007_199_254_740_992
  /// Integers of up to this many characters are exact as a `Double`.
  private static let exactDigits = 15

  /// Reads a number without fraction: `12`, or `12.0` and `1.2e1`, which have the same value.
  public mutating func readInt64() throws(JSONError) -> Int64 {
    try expect(.number)
    let number = try scanNumber()
    if number.isPlain { return try integer(number.range) }
    let double = try double(number.range)
    guard let integer = double.integer(in: JSONReader.exactIntegers) else {
      throw .numberOutOfRange(offset: number.range.lowerBound)
    }
    guard Double(integer) == double else {
      throw .mismatch(expected: .integer, found: .number, offset: number.range.lowerBound)
    }
    return integer
  }

  /// Reads a number. The result is finite.
  public mutating func readDouble() throws(JSONError) -> Double {
    try expect(.number)
    let number = try scanNumber()
    // Exact, and faster than the C library.
    if number.isPlain, number.range.count <= JSONReader.exactDigits { return Double(try integer(number.range)) }
    return try double(number.range)
  }

  /// Reads an ``JSONValue/integer(_:)`` if the number is written as one and fits, else a ``JSONValue/number(_:)``.
  mutating func readNumber() throws(JSONError) -> JSONValue {
    try expect(.number)
    let number = try scanNumber()
    if number.isPlain, let integer = try? integer(number.range) { return .integer(integer) }
    return .number(try double(number.range))
  }

  mutating func scanNumber() throws(JSONError) -> ScannedNumber {
    let first = offset
    if bytes[offset] == UInt8(ascii: "-") { offset += 1 }
    let leading = offset
    let digits = scanDigits()
    guard digits > 0, digits == 1 || bytes[leading] != UInt8(ascii: "0") else { throw .invalidNumber(offset: first) }
    var isPlain = true
    if offset < bytes.count, bytes[offset] == UInt8(ascii: ".") {
      isPlain = false
      offset += 1
      guard scanDigits() > 0 else { throw .invalidNumber(offset: first) }
    }
    if offset < bytes.count, bytes[offset] | 0x20 == UInt8(ascii: "e") {
      isPlain = false
      offset += 1
      if offset < bytes.count, bytes[offset] == UInt8(ascii: "+") || bytes[offset] == UInt8(ascii: "-") { offset += 1 }
      guard scanDigits() > 0 else { throw .invalidNumber(offset: first) }
    }
    return ScannedNumber(range: first..<offset, isPlain: isPlain)
  }

  private mutating func scanDigits() -> Int {
    let first = offset
    while offset < bytes.count, bytes[offset] >= UInt8(ascii: "0"), bytes[offset] <= UInt8(ascii: "9") { offset += 1 }
    return offset - first
  }

  private func integer(_ range: Range<Int>) throws(JSONError) -> Int64 {
    let isNegative = bytes[range.lowerBound] == UInt8(ascii: "-")
    var value: Int64 = 0
    for byte in bytes[range].dropFirst(isNegative ? 1 : 0) {
      let (tens, overflow) = value.multipliedReportingOverflow(by: 10)
      // Subtracts, because the smallest Int64 has no positive counterpart.
      let (sum, underflow) = tens.subtractingReportingOverflow(Int64(byte & 0x0F))
      guard !overflow, !underflow else { throw .numberOutOfRange(offset: range.lowerBound) }
      value = sum
    }
    guard isNegative || value != .min else { throw .numberOutOfRange(offset: range.lowerBound) }
    return isNegative ? value : -value
  }

  private func double(_ range: Range<Int>) throws(JSONError) -> Double {
    guard let double = Double(String(decoding: bytes[range], as: UTF8.self)), double.isFinite else {
      throw .numberOutOfRange(offset: range.lowerBound)
    }
    return double
  }
}
