/// Writes JSON without white space, and adds commas.
///
/// The caller is responsible for the syntax: a key before each value of an object, an end for each begin. Not copyable, as it
/// owns its memory: an array costs several times as much for each part that is appended.
public struct JSONWriter: ~Copyable {
  /// Maximum digits of a 64-bit magnitude.
  private static let maximumDigits = 20
  /// Maximum bytes around a text: a comma, two quotation marks and a colon.
  @usableFromInline static let maximumFraming = 4

  private var start: UnsafeMutablePointer<UInt8>
  /// Where the next byte is written.
  @usableFromInline var next: UnsafeMutablePointer<UInt8>
  @usableFromInline var end: UnsafeMutablePointer<UInt8>
  @usableFromInline var needsComma = false

  public init(capacity: Int = 256) {
    start = .allocate(capacity: capacity)
    next = start
    end = start + capacity
  }

  deinit { start.deallocate() }

  public var bytes: [UInt8] { Array(UnsafeBufferPointer(start: start, count: next - start)) }

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

  /// Writes a key that needs no escapes. Inlined, because its length is known where it is written.
  @inlinable @inline(__always)
  public mutating func key(_ key: StaticString) {
    quoted(UnsafeBufferPointer(start: key.utf8Start, count: key.utf8CodeUnitCount))
    put(UInt8(ascii: ":"))
    needsComma = false
  }

  public mutating func key(escaping key: String) {
    quote(key)
    reserve(1)
    put(UInt8(ascii: ":"))
    needsComma = false
  }

  public mutating func string(_ string: String) {
    quote(string)
    needsComma = true
  }

  public mutating func integer(_ integer: Int64) {
    reserve(JSONWriter.maximumFraming + JSONWriter.maximumDigits * 2)
    separate()
    needsComma = true
    // Most are counts of one digit.
    if 0..<10 ~= integer { return put(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: integer)) }
    if integer < 0 { put(UInt8(ascii: "-")) }
    // Written backwards behind their place, and moved there.
    let last = next + JSONWriter.maximumDigits * 2
    var first = last
    var rest = integer.magnitude
    repeat {
      first -= 1
      first.pointee = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
      rest /= 10
    } while rest > 0
    copy(UnsafeBufferPointer(start: first, count: last - first))
  }

  @inlinable
  public mutating func integer(_ integer: some BinaryInteger) {
    self.integer(Int64(integer))
  }

  /// Writes a number; null if it is not finite, as in JavaScript.
  public mutating func number(_ number: Double) {
    guard number.isFinite else { return null() }
    reserve(JSONWriter.maximumFraming)
    separate()
    append(number.description)
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
    reserve(JSONWriter.maximumFraming)
    separate()
    json.withUnsafeBufferPointer { append($0) }
    needsComma = true
  }

  /// There must be room for the comma.
  @inlinable @inline(__always)
  mutating func separate() {
    if needsComma { put(UInt8(ascii: ",")) }
  }

  private mutating func begin(_ bracket: UInt8) {
    reserve(JSONWriter.maximumFraming)
    separate()
    put(bracket)
    needsComma = false
  }

  private mutating func end(_ bracket: UInt8) {
    reserve(1)
    put(bracket)
    needsComma = true
  }

  private mutating func literal(_ word: StaticString) {
    reserve(JSONWriter.maximumFraming)
    separate()
    append(UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    needsComma = true
  }

  private mutating func quote(_ string: String) {
    // Most strings need no escape.
    string.utf8.span.withUnsafeBufferPointer { JSONWriter.needsEscape($0) ? escaped($0) : quoted($0) }
  }

  /// Writes text that needs no escapes, and leaves room for a colon.
  @inlinable @inline(__always)
  mutating func quoted(_ text: UnsafeBufferPointer<UInt8>) {
    reserve(JSONWriter.maximumFraming + text.count)
    separate()
    put(UInt8(ascii: "\""))
    copy(text)
    put(UInt8(ascii: "\""))
  }

  private mutating func escaped(_ text: UnsafeBufferPointer<UInt8>) {
    reserve(JSONWriter.maximumFraming)
    separate()
    put(UInt8(ascii: "\""))
    var copied = 0
    for index in text.indices where JSONWriter.needsEscape(text[index]) {
      append(UnsafeBufferPointer(rebasing: text[copied..<index]))
      escape(text[index])
      copied = index + 1
    }
    append(UnsafeBufferPointer(rebasing: text[copied...]))
    put(UInt8(ascii: "\""))
  }

  private static func needsEscape(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    let text = UnsafeRawBufferPointer(text)
    var found: UInt64 = 0
    var place = 0
    while text.count - place >= 8 {
      found |= text.loadUnaligned(fromByteOffset: place, as: UInt64.self).bytesToEscape
      place += 8
    }
    var rest = UInt64(littleEndian: 0x2020_2020_2020_2020)
    withUnsafeMutableBytes(of: &rest) { $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: text[place...])) }
    return found | rest.bytesToEscape != 0
  }

  @inline(__always)
  private static func needsEscape(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
  }

  private mutating func escape(_ byte: UInt8) {
    switch byte {
    case 0x0A: append("\\n")
    case 0x0D: append("\\r")
    case 0x09: append("\\t")
    case UInt8(ascii: "\""): append("\\\"")
    case UInt8(ascii: "\\"): append("\\\\")
    default: append("\\u00" + (byte < 0x10 ? "0" : "") + String(byte, radix: 16))
    }
  }

  // MARK: - Memory

  @inlinable @inline(__always)
  mutating func reserve(_ size: Int) {
    if end - next < size { grow(by: size) }
  }

  @usableFromInline
  mutating func grow(by size: Int) {
    let (old, count) = (start, next - start)
    let capacity = max((end - start) * 2, count + size)
    start = .allocate(capacity: capacity)
    start.moveInitialize(from: old, count: count)
    next = start + count
    end = start + capacity
    old.deallocate()
  }

  /// There must be room for it.
  @inlinable @inline(__always)
  mutating func put(_ byte: UInt8) {
    next.pointee = byte
    next += 1
  }

  /// There must be room for it.
  @inlinable @inline(__always)
  mutating func copy(_ text: UnsafeBufferPointer<UInt8>) {
    guard let source = text.baseAddress else { return }
    next.update(from: source, count: text.count)
    next += text.count
  }

  /// Leaves room for the end of a string, too.
  private mutating func append(_ text: UnsafeBufferPointer<UInt8>) {
    reserve(JSONWriter.maximumFraming + text.count)
    copy(text)
  }

  private mutating func append(_ text: String) {
    text.utf8.span.withUnsafeBufferPointer { append($0) }
  }
}

extension JSONWriter {
  /// Writes a key and its value; nothing if that is nil.
  @inlinable @inline(__always)
  public mutating func member(_ name: StaticString, _ value: String?) {
    guard let value else { return }
    key(name)
    string(value)
  }

  /// Writes a key and its value; nothing if that is nil.
  @inlinable @inline(__always)
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

  /// Writes the members of `object`, the text of a JSON object.
  package mutating func members(of object: [UInt8]) {
    let inside = object.dropFirst().dropLast()
    guard inside.contains(where: { $0 > 0x20 }) else { return }
    raw(inside)
  }
}
