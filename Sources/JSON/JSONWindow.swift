/// Reads a JSON text that arrives in chunks, with bounded memory. Extracts whole strings and objects for
/// ``JSONReader``, and rows of a text that is not JSON.
///
/// A function that returns nil has consumed nothing and needs more bytes; after ``close()`` that is an error instead.
public struct JSONWindow: Sendable {
  /// An error in the text, and its position.
  public struct Fault: Error, Sendable, Equatable, CustomStringConvertible {
    /// From 1.
    public let line: Int
    /// Bytes from the start of the text.
    public let offset: Int
    public let text: String

    public var description: String { "line \(line), byte \(offset): \(text)" }
  }

  /// A part of the text.
  public struct Piece: Sendable, Equatable {
    public let bytes: [UInt8]
    /// Bytes from the start of the text.
    public let offset: Int
    /// From 1.
    public let line: Int

    /// Returns an error at this position.
    public func fault(_ text: String) -> Fault { Fault(line: line, offset: offset, text: text) }
  }

  private var bytes: [UInt8] = []
  private var index = 0
  /// Offset of `bytes[0]` in the text.
  private var base = 0
  /// The line of the next byte, from 1.
  public private(set) var line = 1
  public private(set) var isClosed = false
  private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

  public init() {}

  public mutating func append(_ chunk: [UInt8]) {
    precondition(!isClosed, "the text was closed")
    bytes.removeSubrange(..<index)
    base += index
    index = 0
    bytes += chunk
  }

  /// Ends the input.
  public mutating func close() {
    isClosed = true
  }

  /// Returns the next byte that is not white space. After ``close()`` nil is the end of the text.
  public mutating func peek() -> UInt8? {
    guard skipByteOrderMark() else { return nil }
    skipWhitespace()
    return index < bytes.count ? bytes[index] : nil
  }

  /// Consumes the byte that ``peek()`` returned.
  public mutating func take() {
    index += 1
  }

  /// Consumes these parts, with or without white space between them, and returns true; if they do not follow, or do not
  /// end within `maximumBytes`, consumes nothing and returns false.
  public mutating func take(_ parts: [StaticString], maximumBytes: Int) -> Bool? {
    guard peek() != nil else { return isClosed ? false : nil }
    let (first, firstLine) = (index, line)
    for part in parts {
      skipWhitespace()
      for position in 0..<part.utf8CodeUnitCount {
        guard index - first < maximumBytes, index < bytes.count, bytes[index] == part.utf8Start[position] else {
          let isCut = index == bytes.count && !isClosed && index - first < maximumBytes
          (index, line) = (first, firstLine)
          return isCut ? nil : false
        }
        index += 1
      }
    }
    return true
  }

  /// Consumes a string with its quotes. The next byte must be a quote.
  public mutating func string(_ what: String, maximumBytes: Int) throws(Fault) -> Piece? {
    try cut(what, opening: UInt8(ascii: "\""), maximumBytes) { text in
      var position = 1
      while position < text.count {
        switch text[position] {
        case UInt8(ascii: "\""): return position + 1
        case UInt8(ascii: "\\"): position += 2
        default: position += 1
        }
      }
      return nil
    }
  }

  /// Consumes an object with its braces. The next byte must be a brace. Only braces and strings are checked.
  public mutating func object(_ what: String, maximumBytes: Int) throws(Fault) -> Piece? {
    try cut(what, opening: UInt8(ascii: "{"), maximumBytes) { text in
      var (depth, position, isInString) = (0, 0, false)
      while position < text.count {
        let byte = text[position]
        position += 1
        if isInString {
          if byte == UInt8(ascii: "\\") { position += 1 }
          if byte == UInt8(ascii: "\"") { isInString = false }
          continue
        }
        switch byte {
        case UInt8(ascii: "\""): isInString = true
        case UInt8(ascii: "{"): depth += 1
        case UInt8(ascii: "}"):
          depth -= 1
          if depth == 0 { return position }
        default: break
        }
      }
      return nil
    }
  }

  /// Consumes a row. `end` returns the number of its bytes, or nil if it has no end in the bytes that are there; whether these are
  /// the last ones is its second argument. Returns nil at the end of the text, too.
  public mutating func row(
    _ what: String, maximumBytes: Int, _ end: (UnsafeBufferPointer<UInt8>, Bool) -> Int?
  ) throws(Fault) -> Piece? {
    guard skipByteOrderMark(), index < bytes.count else { return nil }
    let isClosed = isClosed
    return try take(what, maximumBytes) { end($0, isClosed) }
  }

  /// Returns the error that the next byte is not `expected`.
  public mutating func unexpected(_ expected: String) -> Fault {
    guard let byte = peek() else { return fault("the text ends here; expected \(expected)") }
    let isPrintable = byte > 0x20 && byte < 0x7F
    let found = isPrintable ? "'\(Unicode.Scalar(byte))'" : "byte 0x\(String(byte, radix: 16))"
    return fault("expected \(expected), found \(found)")
  }

  private mutating func cut(
    _ what: String, opening: UInt8, _ maximumBytes: Int, _ end: (UnsafeBufferPointer<UInt8>) -> Int?
  ) throws(Fault) -> Piece? {
    guard let first = peek() else {
      if isClosed { throw unexpected(what) }
      return nil
    }
    guard first == opening else { throw unexpected(what) }
    return try take(what, maximumBytes, end)
  }

  /// Consumes the bytes that `end` returns the number of.
  private mutating func take(
    _ what: String, _ maximumBytes: Int, _ end: (UnsafeBufferPointer<UInt8>) -> Int?
  ) throws(Fault) -> Piece? {
    let length = bytes.withUnsafeBufferPointer { end(UnsafeBufferPointer(rebasing: $0[index...])) }
    guard let length else {
      if bytes.count - index > maximumBytes { throw fault("\(what) is longer than \(maximumBytes) bytes") }
      if isClosed { throw fault("\(what) begins here and has no end") }
      return nil
    }
    guard length <= maximumBytes else { throw fault("\(what) is longer than \(maximumBytes) bytes") }
    let piece = Piece(bytes: Array(bytes[index..<index + length]), offset: base + index, line: line)
    for byte in piece.bytes where byte == 0x0A { line += 1 }
    index += length
    return piece
  }

  /// Skips the mark that some editors put before the text. Returns false if more bytes are needed.
  private mutating func skipByteOrderMark() -> Bool {
    guard base + index == 0, !bytes.isEmpty, JSONWindow.byteOrderMark.starts(with: bytes.prefix(3)) else { return true }
    guard bytes.count >= JSONWindow.byteOrderMark.count else { return isClosed }
    index = JSONWindow.byteOrderMark.count
    return true
  }

  private mutating func skipWhitespace() {
    while index < bytes.count {
      switch bytes[index] {
      case 0x0A:
        line += 1
        index += 1
      case 0x20, 0x0D, 0x09: index += 1
      default: return
      }
    }
  }

  private func fault(_ text: String) -> Fault { Fault(line: line, offset: base + index, text: text) }
}
