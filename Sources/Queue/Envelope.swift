/// An element of a queue's lists and sorted sets: a producer's bytes, as they came, behind what the fleet knows of them.
///
/// `MARTLET1 <crashes> <attempts> <nonce> <length of state>\n<state><producer's bytes>`, all numbers decimal. In a
/// queue's list, where producers write too, it stands behind the ``Seal``; a producer's own element has no envelope, whatever
/// its bytes look like. The claiming script gives it one, with a nonce: that tells equal bytes apart and names jobs without
/// an id, the same on every attempt. The scripts write the first number only.
public struct Envelope: Sendable, Equatable {
  static let marker = Array("MARTLET1 ".utf8)

  /// How many workers died with the job in their hands.
  public var crashes: Int
  /// How often the job has been attempted and put off.
  public var attempts: Int
  /// 1 to 64 of `A-Za-z0-9._-`; nil for bytes without an envelope.
  public var nonce: String?
  /// What earlier attempts left: JSON of ``AttemptState``, empty at first.
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

  /// Reads an element without its seal. One without a well-formed head is a producer's own bytes, whatever they are.
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

  /// The bytes as they stand in Redis.
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

/// Reads the head of an element; every step answers nil when the bytes are none.
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
    guard let stop = bytes[position..<limit].firstIndex(of: end), stop > position else { return nil }
    defer { position = stop + 1 }
    return String(decoding: bytes[position..<stop], as: UTF8.self)
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
