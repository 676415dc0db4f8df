/// A message between the supervisor and one of its worker processes.
enum ChannelMessage: Equatable {
  /// To a worker: finish and end.
  case stop
  /// To a worker: end now, hand the jobs back.
  case hurry
  /// To a worker: read the files again.
  case reload
  /// To a worker: what do you answer at this path of the admin port?
  case ask(number: UInt32, path: String)
  /// From a worker: the answer to the question with this number. `status` is of HTTP.
  case answer(number: UInt32, status: UInt16, body: [UInt8])

  /// The largest body; the metrics of a worker have about 30 KB.
  static let maximumBodyBytes = 16 * 1024 * 1024

  private static let headBytes = 11

  private var kind: UInt8 {
    switch self {
    case .stop: 1
    case .hurry: 2
    case .reload: 3
    case .ask: 4
    case .answer: 5
    }
  }

  /// Kind (1 byte), number (4), status (2), size of the body (4), each big-endian, and the body.
  var bytes: [UInt8] {
    var (number, status, body): (UInt32, UInt16, [UInt8]) = (0, 0, [])
    switch self {
    case .stop, .hurry, .reload: break
    case .ask(let its, let path): (number, body) = (its, Array(path.utf8))
    case .answer(let its, let code, let content): (number, status, body) = (its, code, content)
    }
    return [kind] + ChannelMessage.bigEndian(number) + ChannelMessage.bigEndian(status)
      + ChannelMessage.bigEndian(UInt32(body.count)) + body
  }

  /// Removes the first complete message from `buffer`. Nil if more bytes are needed. Throws if the bytes are no message.
  static func take(from buffer: inout [UInt8]) throws(ChannelError) -> ChannelMessage? {
    guard buffer.count >= headBytes else { return nil }
    let number = UInt32(integer(buffer[1..<5]))
    let status = UInt16(integer(buffer[5..<7]))
    let size = integer(buffer[7..<11])
    guard size <= maximumBodyBytes else { throw .malformed }
    guard buffer.count >= headBytes + size else { return nil }
    let kind = buffer[0]
    let body = Array(buffer[headBytes..<headBytes + size])
    buffer.removeFirst(headBytes + size)
    switch kind {
    case 1: return .stop
    case 2: return .hurry
    case 3: return .reload
    case 4: return .ask(number: number, path: String(decoding: body, as: UTF8.self))
    case 5: return .answer(number: number, status: status, body: body)
    default: throw .malformed
    }
  }

  private static func integer(_ bytes: ArraySlice<UInt8>) -> Int {
    bytes.reduce(0) { $0 << 8 | Int($1) }
  }

  private static func bigEndian(_ value: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: value.bigEndian) { Array($0) }
  }
}

/// Bytes that are no message: the two programs are not of one version.
enum ChannelError: Error {
  case malformed
}
