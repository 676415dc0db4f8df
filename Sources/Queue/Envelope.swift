public import Jobs
public import PushModel

/// A job as the queue stores it: the producer's bytes, unchanged, behind what the fleet knows of them.
///
/// `MARTLET1 <crashes> <attempts> <nonce> <length of state>\n<state><producer's bytes>`, all numbers decimal. In a
/// queue's list, where producers write too, a ``Seal`` is in front of it. A producer's element has no envelope,
/// even if its bytes look like one; the claiming script adds it. The nonce distinguishes equal bytes, and jobs without an
/// id get theirs from it on every attempt. Scripts change only the first number.
public struct Envelope: Sendable, Equatable {
  package static let marker = Array("MARTLET1 ".utf8)

  /// The number of workers in a row that died while they held the job.
  public var crashes: Int
  /// The number of attempts that were followed by a retry.
  public var attempts: Int
  /// 1 to 64 of `A-Za-z0-9._-`; nil without an envelope.
  public var nonce: String?
  /// The state that earlier attempts left, JSON of ``AttemptState``. Empty before the first.
  public var state: [UInt8]
  /// The producer's bytes.
  public let job: [UInt8]

  public init(crashes: Int = 0, attempts: Int = 0, nonce: String?, state: [UInt8] = [], job: [UInt8]) {
    self.crashes = crashes
    self.attempts = attempts
    self.nonce = nonce
    self.state = state
    self.job = job
  }

  /// Reads an element without its seal. If the head is malformed, all of `element` is the producer's bytes.
  public init(element: [UInt8]) {
    var head = HeadReader(element)
    guard head.skip(Envelope.marker), let crashes = head.number(endedBy: .space),
      let attempts = head.number(endedBy: .space), let nonce = head.word(endedBy: .space),
      let stateLength = head.number(endedBy: .newline), stateLength <= element.count - head.position
    else {
      self.init(nonce: nil, job: element)
      return
    }
    let jobStart = head.position + stateLength
    self.init(
      crashes: crashes, attempts: attempts, nonce: nonce, state: Array(element[head.position..<jobStart]),
      job: Array(element[jobStart...]))
  }

  /// Which of the job's attempts the next claim begins. `state`: what ``state`` contains.
  public func turn(_ state: AttemptState) -> AttemptTurn {
    AttemptTurn(requeues: state.requeues, attempts: attempts, crashes: crashes)
  }

  /// The bytes that are stored in Redis.
  public var element: [UInt8] {
    guard let nonce else { return job }
    var bytes = Envelope.marker
    bytes.reserveCapacity(bytes.count + 100 + state.count + job.count)
    bytes.append(contentsOf: "\(crashes) \(attempts) \(nonce) \(state.count)\n".utf8)
    bytes.append(contentsOf: state)
    bytes.append(contentsOf: job)
    return bytes
  }
}

/// The word in front of the fleet's own elements in a queue's list: `MARTLET <seal> `, then the envelope.
///
/// Producers write to the same list, and each of their elements is a job, even if it looks like an envelope. The seal is
/// random, one per queue, made by the first worker that joins. Only elements of the list itself carry it, as only the
/// fleet writes to the other keys.
package enum Seal {
  package static let marker = "MARTLET "

  package static func random() -> String { String(UInt64.random(in: 0...UInt64.max), radix: 36) }

  /// The bytes in front of an envelope.
  static func prefix(_ seal: String) -> [UInt8] { Array((marker + seal + " ").utf8) }

  /// Returns the envelope and the job of an element of a queue's list; nil for a producer's element.
  package static func unsealed(_ element: [UInt8], seal: String) -> [UInt8]? {
    let prefix = prefix(seal)
    return !seal.isEmpty && element.starts(with: prefix) ? Array(element.dropFirst(prefix.count)) : nil
  }

  /// Returns the envelope of an element that was taken from a queue's list: the one behind the seal, or a new one
  /// around a producer's element.
  static func envelope(ofPopped element: [UInt8], seal: String, nonce: @autoclosure () -> String) -> [UInt8] {
    unsealed(element, seal: seal) ?? Envelope(nonce: nonce(), job: element).element
  }
}

/// Reads the head of an element. Each step returns nil or false if the bytes do not match.
private struct HeadReader {
  private static let maximumWordBytes = 64
  private let bytes: [UInt8]
  private(set) var position = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  mutating func skip(_ expected: [UInt8]) -> Bool {
    guard bytes.starts(with: expected) else { return false }
    position = expected.count
    return true
  }

  mutating func word(endedBy end: UInt8) -> String? {
    let limit = min(bytes.count, position + HeadReader.maximumWordBytes + 1)
    var stop = position
    while stop < limit, HeadReader.isWordByte(bytes[stop]) { stop += 1 }
    guard stop > position, stop < limit, bytes[stop] == end else { return nil }
    defer { position = stop + 1 }
    return String(decoding: bytes[position..<stop], as: UTF8.self)
  }

  /// `A-Za-z0-9._-`
  private static func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "a")...UInt8(ascii: "z"): true
    default: byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
    }
  }

  mutating func number(endedBy end: UInt8) -> Int? {
    var value = 0
    let start = position
    while position < bytes.count, case 0x30...0x39 = bytes[position], position - start < 9 {
      value = value * 10 + Int(bytes[position] - 0x30)
      position += 1
    }
    guard position > start, position < bytes.count, bytes[position] == end else { return nil }
    position += 1
    return value
  }
}

extension UInt8 {
  fileprivate static let space = UInt8(ascii: " ")
  fileprivate static let newline = UInt8(ascii: "\n")
}
