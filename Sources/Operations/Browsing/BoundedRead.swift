import Crypto
import EventLoop
import Redis

/// A read of neighbouring elements of a list, or members of a sorted set, of any number and size.
struct BoundedRead {
  /// The end at which a read begins. A list's first element is the left one, a sorted set's the one of the lowest score.
  enum End: Int {
    case first = 1
    case last = -1
  }

  struct Element {
    /// As Redis writes it; empty in a list.
    var score = ""
    /// All bytes that it has; 0 if it does not contain the needles.
    var length = 0
    /// What was read of it.
    var bytes: [UInt8] = []

    /// Tells it from others of the same score. The bytes at its beginning include its nonce.
    var digest: String { SHA1.hex(Array(bytes.prefix(BoundedRead.digestBytes)) + Array(" \(length)".utf8)) }
  }

  /// Elements that are taken from Redis at once: their size is known only then.
  static let chunk = 4
  /// Bytes of elements that are examined. The element that exceeds them is the last.
  static let examinedBytes = 4 * 1024 * 1024
  /// Bytes of an element that its digest covers.
  static let digestBytes = 8192
  /// The largest number of elements to which neither a limit nor a page applies.
  private static let unlimited = 1_000_000

  let key: String
  let isList: Bool
  let end: End
  /// Elements that are passed over; of a sorted set those behind the beginning of ``score``.
  var skip = 0
  /// The score at which the read of a sorted set begins; nil for the end.
  var score: String?
  /// Elements that are examined at most.
  var most: Int
  /// Elements with both needles that are read at most.
  var wanted = unlimited
  /// What an element must contain. Of another member nothing is read, and of another element of a list ``otherBytes``.
  var needles: (first: [UInt8], second: [UInt8]) = ([], [])
  var otherBytes = 0
  /// Bytes of an element that is read whole, at most, and bytes that are read of a longer one.
  var wholeBytes = 262_144
  var beginningBytes = 262_144
  /// Only the first line is read.
  var isFirstLine = false

  /// Returns the elements in their order from the end, and whether there are none behind them.
  @EventLoop
  func send(to connection: RedisClient) async throws(RedisError) -> (elements: [Element], isComplete: Bool) {
    let isFromFirst = end == .first
    let low = score.map { isFromFirst ? "-inf" : "(" + $0 } ?? ""
    let high = score.map { isFromFirst ? "(" + $0 : "+inf" } ?? ""
    let answer = try await connection.send(
      OperationsScripts.read(
        key: key, kind: isList ? "list" : "set", first: isFromFirst ? skip : -1 - skip, step: end.rawValue, low: low,
        high: high, most: most, wanted: wanted, needle: needles.first, other: needles.second, rest: otherBytes,
        whole: wholeBytes, beginning: beginningBytes, line: isFirstLine ? "[^\n]*" : ".*"))
    let parts = answer.array ?? []
    return (parts.dropFirst().compactMap(element), parts.first?.integer != 0)
  }

  private func element(_ value: RedisValue) -> Element? {
    if let parts = value.array, parts.count == 3, let score = parts[0].string, let length = parts[1].count,
      let bytes = parts[2].bytes
    {
      return Element(score: score, length: length, bytes: bytes)
    }
    return isList ? value.bytes.map { Element(bytes: $0) } : value.string.map { Element(score: $0) }
  }
}
