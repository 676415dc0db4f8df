import JSON

/// Skips a reply (RESP 2) of any size and depth without keeping it.
struct ReplySkipper {
  /// The bytes are not a reply.
  struct Malformed: Error {}

  /// Maximum bytes of a line with a length: a type and a number.
  private static let maximumLengthLine = 32
  /// Greater lengths of a bulk string or array are malformed. Redis' own limit is 512 MiB.
  private static let maximumLength = 1 << 40

  /// Number of values still to be skipped, including those within arrays.
  private var open: Int
  /// Remaining bytes of a bulk string, including its line end.
  private var bulkBytes = 0
  /// The kept part of the current line.
  private var line: [UInt8] = []

  /// Skips `open` values.
  init(open: Int) {
    self.open = open
  }

  var isDone: Bool { open == 0 }

  /// Skips bytes up to the end of the reply or of the bytes, and returns the index after the last skipped byte.
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
    guard line.last == UInt8(ascii: "\r") else { throw Malformed() }
    let text = String(decoding: line.dropFirst().dropLast(), as: UTF8.self)
    if text == "-1" { return -1 }
    guard let length = text.integer(in: 0...ReplySkipper.maximumLength - 1) else { throw Malformed() }
    return length
  }
}
