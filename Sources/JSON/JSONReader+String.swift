extension JSONReader {
  /// The range of a string's text without its quotes, and how to decode it.
  struct ScannedString {
    let range: Range<Int>
    let hasEscapes: Bool
    let isASCII: Bool
  }

  /// Reads a string including its quotes.
  mutating func scanString() throws(JSONError) -> ScannedString {
    let first = offset + 1
    var seen: UInt64 = 0
    var hasEscapes = false
    var index = first
    let stop: UInt8? = bytes.withUnsafeBufferPointer { text in
      while index < text.count {
        if text.count - index >= 8 {
          let word = UnsafeRawBufferPointer(text).loadUnaligned(fromByteOffset: index, as: UInt64.self).littleEndian
          // The lowest bit is exact, and the bytes before it are plain.
          let plain = word.bytesToEscape.trailingZeroBitCount / 8
          seen |= word & ((1 << UInt64(plain * 8)) &- 1)
          index += plain
          if plain == 8 { continue }
        }
        let byte = text[index]
        if byte == UInt8(ascii: "\"") || byte < 0x20 { return byte }
        seen |= UInt64(byte)
        index += 1
        if byte == UInt8(ascii: "\\") {
          hasEscapes = true
          // The escape is checked when it is decoded; here a quote after a backslash must not end the string.
          if index < text.count, text[index] >= 0x20 { index += 1 }
        }
      }
      return nil
    }
    guard let stop else { throw .unterminatedString(offset: first - 1) }
    guard stop == UInt8(ascii: "\"") else { throw .controlCharacter(stop, offset: index) }
    offset = index + 1
    return ScannedString(range: first..<index, hasEscapes: hasEscapes, isASCII: seen & 0x8080_8080_8080_8080 == 0)
  }

  func decode(_ string: ScannedString) throws(JSONError) -> String {
    if string.hasEscapes { return try unescape(string.range) }
    let text: String? = bytes.withUnsafeBufferPointer { bytes in
      let slice = UnsafeBufferPointer(rebasing: bytes[string.range])
      return string.isASCII ? String(decoding: slice, as: UTF8.self) : String(validating: slice, as: UTF8.self)
    }
    guard let text else { throw .invalidUTF8(offset: string.range.lowerBound - 1) }
    return text
  }

  func number(of range: Range<Int>, among keys: JSONKeys) -> Int? {
    bytes.withUnsafeBufferPointer { keys.number(of: UnsafeBufferPointer(rebasing: $0[range])) }
  }

  private func unescape(_ range: Range<Int>) throws(JSONError) -> String {
    var text: [UInt8] = []
    text.reserveCapacity(range.count)
    var index = range.lowerBound
    while index < range.upperBound {
      let byte = bytes[index]
      guard byte == UInt8(ascii: "\\") else {
        text.append(byte)
        index += 1
        continue
      }
      guard index + 1 < range.upperBound else { throw .invalidEscape(offset: index) }
      if bytes[index + 1] == UInt8(ascii: "u") {
        let scalar = try scalar(at: &index, before: range.upperBound)
        text.append(contentsOf: UTF8.encode(scalar)!)
      } else {
        guard let plain = JSONReader.plain(bytes[index + 1]) else { throw .invalidEscape(offset: index) }
        text.append(plain)
        index += 2
      }
    }
    guard let string = String(validating: text, as: UTF8.self) else {
      throw .invalidUTF8(offset: range.lowerBound - 1)
    }
    return string
  }

  /// Reads `\uXXXX`, or two of these for a surrogate pair.
  private func scalar(at index: inout Int, before end: Int) throws(JSONError) -> Unicode.Scalar {
    let first = try unit(at: index, before: end)
    if let scalar = Unicode.Scalar(first) {
      index += 6
      return scalar
    }
    guard UTF16.isLeadSurrogate(first), index + 6 < end, bytes[index + 6] == UInt8(ascii: "\\") else {
      throw .loneSurrogate(offset: index)
    }
    guard index + 7 < end, bytes[index + 7] == UInt8(ascii: "u") else { throw .loneSurrogate(offset: index) }
    let second = try unit(at: index + 6, before: end)
    guard UTF16.isTrailSurrogate(second) else { throw .loneSurrogate(offset: index) }
    index += 12
    return UTF16.decode(UTF16.EncodedScalar([first, second]))
  }

  private func unit(at index: Int, before end: Int) throws(JSONError) -> UInt16 {
    guard index + 6 <= end else { throw .invalidEscape(offset: index) }
    var unit: UInt16 = 0
    for byte in bytes[index + 2..<index + 6] {
      guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else {
        throw .invalidEscape(offset: index)
      }
      unit = unit << 4 | UInt16(digit)
    }
    return unit
  }

  /// Returns the byte of a one-letter escape.
  private static func plain(_ letter: UInt8) -> UInt8? {
    switch letter {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): letter
    case UInt8(ascii: "b"): 0x08
    case UInt8(ascii: "f"): 0x0C
    case UInt8(ascii: "n"): 0x0A
    case UInt8(ascii: "r"): 0x0D
    case UInt8(ascii: "t"): 0x09
    default: nil
    }
  }
}

extension UInt64 {
  /// 0 if none of 8 bytes is a quotation mark, a backslash or a control character; else the lowest bit is in the first of these.
  ///
  /// Subtracting from each byte borrows into its highest bit if the byte is smaller, for which that bit must have been 0.
  @inline(__always)
  var bytesToEscape: UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let quotes = self ^ (ones &* 0x22)
    let backslashes = self ^ (ones &* 0x5C)
    let smaller = (self &- ones &* 0x20) & ~self | (quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes
    return smaller & (ones << 7)
  }
}
