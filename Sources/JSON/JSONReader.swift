/// A strict pull parser for one JSON text (RFC 8259).
///
/// In an object, call ``nextKey()`` until it returns nil, and read or skip one value after each key. In an array, call
/// ``nextElement()`` until it returns false. At the end call ``end()``. Throws for control characters in strings,
/// invalid UTF-8, half surrogate pairs, leading zeros, NaN, bytes after the value, and more than 64 levels.
public struct JSONReader: Sendable {
  /// Maximum levels of objects and arrays.
  public static let maximumDepth = 64

  /// The whole text.
  public let bytes: [UInt8]

  /// Bytes read so far.
  public internal(set) var offset = 0

  /// Offset of the key or value that was read last.
  public internal(set) var start = 0

  /// Whether the last string contained escapes. A string without escapes has no control characters.
  public private(set) var hadEscapes = false

  /// Whether a value that was skipped was null, or had a null in it.
  public private(set) var skippedNull = false

  private var depth = 0
  /// One bit per level: whether nothing of that object or array was read yet.
  private var isFirst: UInt64 = 0

  public init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// Returns the kind of the next value without reading it.
  public mutating func peek() throws(JSONError) -> JSONKind {
    switch try nextByte() {
    case UInt8(ascii: "{"): return .object
    case UInt8(ascii: "["): return .array
    case UInt8(ascii: "\""): return .string
    case UInt8(ascii: "t"), UInt8(ascii: "f"): return .bool
    case UInt8(ascii: "n"): return .null
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
    case let byte: throw .unexpectedByte(byte, offset: offset)
    }
  }

  /// Whether the next value is null, or nothing that is valid.
  public mutating func nextIsNull() throws(JSONError) -> Bool { try nextByte() == UInt8(ascii: "n") }

  public mutating func beginObject() throws(JSONError) {
    try expect(.object)
    try descend()
  }

  public mutating func beginArray() throws(JSONError) {
    try expect(.array)
    try descend()
  }

  /// Reads the next key of the current object. Returns nil at its end.
  public mutating func nextKey() throws(JSONError) -> String? {
    guard try nextMember(closing: UInt8(ascii: "}")) else { return nil }
    try expectKey()
    let key = try readString()
    try readColon()
    return key
  }

  /// Reads the next key of the current object, most of whose keys are known. Returns nil at its end.
  public mutating func nextKey(among keys: JSONKeys) throws(JSONError) -> JSONKey? {
    guard try nextMember(closing: UInt8(ascii: "}")) else { return nil }
    try expectKey()
    let string = try scanString()
    let key: JSONKey
    if !string.hasEscapes, let number = number(of: string.range, among: keys) {
      key = .known(number)
    } else {
      let text = try decode(string)
      key = keys.names.firstIndex(of: text).map(JSONKey.known) ?? .unknown(text)
    }
    try readColon()
    return key
  }

  /// Advances to the next element of the current array. Returns false at its end.
  public mutating func nextElement() throws(JSONError) -> Bool {
    try nextMember(closing: UInt8(ascii: "]"))
  }

  public mutating func readBool() throws(JSONError) -> Bool {
    try expect(.bool)
    if bytes[offset] == UInt8(ascii: "t") {
      try readWord("true")
      return true
    }
    try readWord("false")
    return false
  }

  public mutating func readNull() throws(JSONError) {
    try expect(.null)
    try readWord("null")
  }

  public mutating func readString() throws(JSONError) -> String {
    try expect(.string)
    let string = try scanString()
    hadEscapes = string.hasEscapes
    return try decode(string)
  }

  /// Skips one value and returns its range in ``bytes``. Checks its syntax, but not for duplicate keys.
  @discardableResult
  public mutating func skipValue() throws(JSONError) -> Range<Int> {
    let kind = try peek()
    let first = offset
    switch kind {
    case .null:
      skippedNull = true
      try readWord("null")
    case .bool: _ = try readBool()
    case .number, .integer: _ = try scanNumber()
    case .string:
      let string = try scanString()
      if string.hasEscapes || !string.isASCII { _ = try decode(string) }
    case .array:
      try beginArray()
      while try nextElement() { try skipValue() }
    case .object:
      try beginObject()
      while try nextMember(closing: UInt8(ascii: "}")) { try skipMember() }
    }
    start = first
    return first..<offset
  }

  /// Throws if there is anything but white space left.
  public mutating func end() throws(JSONError) {
    skipWhitespace()
    guard offset == bytes.count else { throw .trailingByte(bytes[offset], offset: offset) }
  }

  /// Advances to the next value. Throws if it is of another kind.
  mutating func expect(_ kind: JSONKind) throws(JSONError) {
    let found = try peek()
    start = offset
    guard found == kind else { throw .mismatch(expected: kind, found: found, offset: offset) }
  }

  private mutating func skipMember() throws(JSONError) {
    try expectKey()
    let key = try scanString()
    if key.hasEscapes || !key.isASCII { _ = try decode(key) }
    try readColon()
    try skipValue()
  }

  @inline(__always)
  private mutating func expectKey() throws(JSONError) {
    let byte = try nextByte()
    guard byte == UInt8(ascii: "\"") else { throw .unexpectedByte(byte, offset: offset) }
    start = offset
  }

  @inline(__always)
  private mutating func readColon() throws(JSONError) {
    let byte = try nextByte()
    guard byte == UInt8(ascii: ":") else { throw .unexpectedByte(byte, offset: offset) }
    offset += 1
  }

  private mutating func descend() throws(JSONError) {
    guard depth < JSONReader.maximumDepth else { throw .tooDeep(offset: offset) }
    isFirst |= 1 << UInt64(depth)
    depth += 1
    offset += 1
  }

  @inline(__always)
  private mutating func nextMember(closing: UInt8) throws(JSONError) -> Bool {
    precondition(depth > 0, "no object or array was begun")
    let byte = try nextByte()
    let bit: UInt64 = 1 << UInt64(depth - 1)
    if byte == closing {
      offset += 1
      depth -= 1
      isFirst &= ~bit
      return false
    }
    guard isFirst & bit == 0 else {
      isFirst &= ~bit
      return true
    }
    guard byte == UInt8(ascii: ",") else { throw .unexpectedByte(byte, offset: offset) }
    offset += 1
    let next = try nextByte()
    guard next != closing else { throw .unexpectedByte(next, offset: offset) }
    return true
  }

  private mutating func readWord(_ word: StaticString) throws(JSONError) {
    for index in 0..<word.utf8CodeUnitCount {
      guard offset < bytes.count else { throw .unexpectedEnd(offset: offset) }
      guard bytes[offset] == word.utf8Start[index] else { throw .unexpectedByte(bytes[offset], offset: offset) }
      offset += 1
    }
  }

  @inline(__always)
  private mutating func nextByte() throws(JSONError) -> UInt8 {
    // Most jobs have no white space.
    if offset < bytes.count, bytes[offset] > 0x20 { return bytes[offset] }
    skipWhitespace()
    guard offset < bytes.count else { throw .unexpectedEnd(offset: offset) }
    return bytes[offset]
  }

  private mutating func skipWhitespace() {
    while offset < bytes.count, bytes[offset] <= 0x20 {
      switch bytes[offset] {
      case 0x20, 0x0A, 0x0D, 0x09: offset += 1
      default: return
      }
    }
  }
}
