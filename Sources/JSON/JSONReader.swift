/// Reads one JSON text (RFC 8259, strictly) from front to back; the caller asks for what it expects.
///
/// Inside an object call ``nextKey()`` until it returns nil and read or skip one value after each key; inside an array
/// call ``nextElement()`` until it returns false; at the end call ``end()``. Not accepted: control characters in
/// strings, invalid UTF-8, half surrogate pairs, leading zeros, NaN, bytes after the value, depth over 64.
public struct JSONReader: Sendable {
  /// Levels of objects and arrays.
  public static let maximumDepth = 64

  /// The whole text.
  public let bytes: [UInt8]

  /// Bytes read so far.
  public internal(set) var offset = 0

  /// Offset of the key or value that was read last.
  public internal(set) var start = 0

  /// Whether the string that was read last was written with escapes; without, it has no control characters.
  public private(set) var hadEscapes = false

  private var depth = 0
  /// One bit a level: whether nothing was read of that object or array yet.
  private var isFirst: UInt64 = 0

  public init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// What the next value is, without reading it.
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

  public mutating func beginObject() throws(JSONError) {
    try expect(.object)
    try descend()
  }

  public mutating func beginArray() throws(JSONError) {
    try expect(.array)
    try descend()
  }

  /// The next key of the object that was begun last; nil at its end.
  public mutating func nextKey() throws(JSONError) -> String? {
    guard try nextMember(closing: UInt8(ascii: "}")) else { return nil }
    try expectKey()
    let key = try readString()
    try readColon()
    return key
  }

  /// The same for an object whose keys are known beforehand.
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

  /// Whether the array that was begun last has another element; false at its end.
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

  /// Reads over one value, checking its form but not for duplicate keys; returns where it stands in ``bytes``.
  @discardableResult
  public mutating func skipValue() throws(JSONError) -> Range<Int> {
    let kind = try peek()
    let first = offset
    switch kind {
    case .null: try readWord("null")
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

  /// Only white space may be left.
  public mutating func end() throws(JSONError) {
    skipWhitespace()
    guard offset == bytes.count else { throw .trailingByte(bytes[offset], offset: offset) }
  }

  /// Goes to the next value, which has to be of this kind.
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

  private mutating func expectKey() throws(JSONError) {
    let byte = try nextByte()
    guard byte == UInt8(ascii: "\"") else { throw .unexpectedByte(byte, offset: offset) }
    start = offset
  }

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

  private mutating func nextByte() throws(JSONError) -> UInt8 {
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
