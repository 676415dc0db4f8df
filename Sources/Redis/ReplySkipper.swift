/// Reads past a reply (RESP 2) without keeping it, however large or deep it is.
struct ReplySkipper {
  /// The bytes are no reply.
  struct Malformed: Error {}

  /// Bytes of a line that announces a length: a type and a number.
  private static let maximumLengthLine = 32
  /// More in one bulk string, or in one array, is no length: redis' own limit is 512 MiB.
  private static let maximumLength = 1 << 40

  /// Values that have not ended, those within arrays among them.
  private var open: Int
  /// What is left of a bulk string, with its line end.
  private var bulkBytes = 0
  /// The line that is being read, as far as it is kept.
  private var line: [UInt8] = []

  /// `open` values are to be read past.
  init(open: Int) {
    self.open = open
  }

  var isDone: Bool { open == 0 }

  /// Returns where it stopped: at the end of the bytes, or behind the reply.
  mutating func skip<Bytes: RandomAccessCollection<UInt8>>(
    _ bytes: Bytes
  ) throws(Malformed) -> Int where Bytes.Index == Int {
    var index = bytes.startIndex
    while open > 0, index < bytes.endIndex {
      if bulkBytes > 0 {
        let count = min(bulkBytes, bytes.endIndex - index)
        bulkBytes -= count
        index += count
        if bulkBytes == 0 { open -= 1 }
        continue
      }
      let byte = bytes[index]
      index += 1
      if byte == UInt8(ascii: "\n") { try endLine() } else { try extendLine(byte) }
    }
    return index
  }

  private mutating func extendLine(_ byte: UInt8) throws(Malformed) {
    switch line.first ?? byte {
    case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: ":"):
      if line.isEmpty { line.append(byte) }
    case UInt8(ascii: "$"), UInt8(ascii: "*"):
      guard line.count < ReplySkipper.maximumLengthLine else { throw Malformed() }
      line.append(byte)
    default: throw Malformed()
    }
  }

  private mutating func endLine() throws(Malformed) {
    defer { line.removeAll(keepingCapacity: true) }
    switch line.first {
    case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: ":"): open -= 1
    case UInt8(ascii: "$"):
      let length = try length()
      if length < 0 { open -= 1 } else { bulkBytes = length + 2 }
    case UInt8(ascii: "*"): open += max(0, try length()) - 1
    default: throw Malformed()
    }
    guard open < ReplySkipper.maximumLength else { throw Malformed() }
  }

  /// -1 is null.
  private func length() throws(Malformed) -> Int {
    guard line.last == UInt8(ascii: "\r"),
      let length = Int(String(decoding: line.dropFirst().dropLast(), as: UTF8.self)),
      (-1..<ReplySkipper.maximumLength).contains(length)
    else { throw Malformed() }
    return length
  }
}
