/// Writes JSON without white space, and adds commas.
///
/// The caller is responsible for the syntax: a key before each value of an object, an end for each begin.
public struct JSONWriter: Sendable {
  public private(set) var bytes: [UInt8] = []
  private var needsComma = false
  /// Maximum digits of a 64-bit magnitude.
  private static let maximumDigits = 20

  public init(capacity: Int = 0) {
    bytes.reserveCapacity(capacity)
  }

  public mutating func beginObject() {
    begin(UInt8(ascii: "{"))
  }

  public mutating func endObject() {
    end(UInt8(ascii: "}"))
  }

  public mutating func beginArray() {
    begin(UInt8(ascii: "["))
  }

  public mutating func endArray() {
    end(UInt8(ascii: "]"))
  }

  /// Writes a key that needs no escapes.
  public mutating func key(_ key: StaticString) {
    key.withUTF8Buffer { quoted($0, end: UInt8(ascii: ":")) }
    needsComma = false
  }

  public mutating func key(_ key: String) {
    quote(key)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  public mutating func string(_ string: String) {
    quote(string)
    needsComma = true
  }

  public mutating func integer(_ integer: Int64) {
    separate()
    digits(integer)
    needsComma = true
  }

  @inlinable
  public mutating func integer(_ integer: some BinaryInteger) {
    self.integer(Int64(integer))
  }

  /// Writes a number; null if it is not finite, as in JavaScript.
  public mutating func number(_ number: Double) {
    guard number.isFinite else { return null() }
    separate()
    bytes.append(contentsOf: number.description.utf8)
    needsComma = true
  }

  public mutating func bool(_ bool: Bool) {
    literal(bool ? "true" : "false")
  }

  public mutating func null() {
    literal("null")
  }

  /// Writes a value that is JSON already, without checking it.
  public mutating func raw(_ json: [UInt8]) {
    raw(json[...])
  }

  /// Writes a value that is JSON already, without checking it.
  public mutating func raw(_ json: ArraySlice<UInt8>) {
    separate()
    bytes.append(contentsOf: json)
    needsComma = true
  }

  public mutating func value(_ value: JSONValue) {
    switch value {
    case .null: null()
    case .bool(let value): bool(value)
    case .integer(let value): integer(value)
    case .number(let value): number(value)
    case .string(let value): string(value)
    case .array(let elements):
      beginArray()
      for element in elements { self.value(element) }
      endArray()
    case .object(let members):
      beginObject()
      for member in members {
        key(member.key)
        self.value(member.value)
      }
      endObject()
    }
  }

  /// Writes a key and its value; nothing if that is nil.
  public mutating func member(_ name: StaticString, _ value: String?) {
    guard let value else { return }
    key(name)
    string(value)
  }

  /// Writes a key and its value; nothing if that is nil.
  @inlinable
  public mutating func member(_ name: StaticString, _ value: (some BinaryInteger)?) {
    guard let value else { return }
    key(name)
    integer(value)
  }

  /// Writes a key and its value; nothing if that is nil.
  public mutating func member(_ name: StaticString, _ value: Bool?) {
    guard let value else { return }
    key(name)
    bool(value)
  }

  private mutating func separate() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
  }

  private mutating func begin(_ bracket: UInt8) {
    separate()
    bytes.append(bracket)
    needsComma = false
  }

  private mutating func end(_ bracket: UInt8) {
    bytes.append(bracket)
    needsComma = true
  }

  private mutating func literal(_ word: StaticString) {
    separate()
    word.withUTF8Buffer { bytes.append(contentsOf: $0) }
    needsComma = true
  }

  private mutating func quote(_ string: String) {
    var string = string
    string.withUTF8 { text in
      // Most strings need no escape.
      JSONWriter.needsEscape(text) ? escaped(text) : quoted(text)
    }
  }

  /// Writes a comma if there must be one, and text that needs no escapes in quotation marks, then `end`. One append is
  /// several times as fast as one for each part.
  @inline(__always)
  private mutating func quoted(_ text: UnsafeBufferPointer<UInt8>, end: UInt8? = nil) {
    bytes.append(addingCapacity: text.count + 4) { [needsComma] (room: inout OutputSpan<UInt8>) in
      room.withUnsafeMutableBufferPointer { room, count in
        func put(_ byte: UInt8) {
          room.initializeElement(at: count, to: byte)
          count += 1
        }
        if needsComma { put(UInt8(ascii: ",")) }
        put(UInt8(ascii: "\""))
        count = room[count...].initialize(fromContentsOf: text)
        put(UInt8(ascii: "\""))
        if let end { put(end) }
      }
    }
  }

  private mutating func escaped(_ text: UnsafeBufferPointer<UInt8>) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    var copied = 0
    for index in text.indices where JSONWriter.needsEscape(text[index]) {
      bytes.append(contentsOf: text[copied..<index])
      escape(text[index])
      copied = index + 1
    }
    bytes.append(contentsOf: text[copied...])
    bytes.append(UInt8(ascii: "\""))
  }

  private static func needsEscape(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    let size = MemoryLayout<UInt64>.size
    guard text.count >= size else { return text.contains(where: needsEscape) }
    let raw = UnsafeRawBufferPointer(text)
    // The last 8 bytes may overlap those before.
    var escapes = anyEscape(in: raw.loadUnaligned(fromByteOffset: text.count - size, as: UInt64.self))
    for place in stride(from: 0, to: text.count - size, by: size) {
      escapes |= anyEscape(in: raw.loadUnaligned(fromByteOffset: place, as: UInt64.self))
    }
    return escapes != 0
  }

  /// Returns 0 if none of 8 bytes is to be escaped.
  ///
  /// Subtracting from each byte borrows into its highest bit if the byte is smaller, for which that bit must have been 0.
  private static func anyEscape(in bytes: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let quotes = bytes ^ (ones &* UInt64(UInt8(ascii: "\"")))
    let backslashes = bytes ^ (ones &* UInt64(UInt8(ascii: "\\")))
    let smaller = (bytes &- ones &* 0x20) & ~bytes | (quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes
    return smaller & (ones << 7)
  }

  private static func needsEscape(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
  }

  private mutating func escape(_ byte: UInt8) {
    bytes.append(UInt8(ascii: "\\"))
    switch byte {
    case 0x0A: bytes.append(UInt8(ascii: "n"))
    case 0x0D: bytes.append(UInt8(ascii: "r"))
    case 0x09: bytes.append(UInt8(ascii: "t"))
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
    default:
      let hex = Array("0123456789abcdef".utf8)
      bytes.append(contentsOf: "u00".utf8)
      bytes.append(hex[Int(byte >> 4)])
      bytes.append(hex[Int(byte & 0x0F)])
    }
  }

  private mutating func digits(_ integer: Int64) {
    if (0...9).contains(integer) { return bytes.append(UInt8(ascii: "0") + UInt8(integer)) }
    if integer < 0 { bytes.append(UInt8(ascii: "-")) }
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: JSONWriter.maximumDigits) { digits in
      var rest = integer.magnitude
      var first = JSONWriter.maximumDigits
      repeat {
        first -= 1
        digits.initializeElement(at: first, to: UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
        rest /= 10
      } while rest > 0
      bytes.append(contentsOf: UnsafeBufferPointer(rebasing: digits[first...]))
    }
  }
}
