@testable import Queue
@testable import Redis

/// Bytes as from Redis. The first byte is the size of the pieces in which they arrive.
enum ReplyInput {
  /// Bytes of one reply in the reader with a small limit.
  private static let smallLimit = 256

  static func check(_ bytes: [UInt8]) throws(Violation) {
    let size = Int(bytes.first ?? 0) + 1
    let stream = Array(bytes.dropFirst())
    let whole = read(stream, inPiecesOf: stream.count + 1, maximumBytes: ReplyReader.maximumBytes)
    let pieces = read(stream, inPiecesOf: size, maximumBytes: ReplyReader.maximumBytes)
    try require(whole.map(Outcome.init) == pieces.map(Outcome.init), "replies depend on how they arrive")
    for next in whole {
      switch next {
      case .value(let value): _ = ClaimAnswer(value, queue: "push:jobs")
      case .tooLarge(let text), .broken(let text): try requireShort(text, smallLimit, "the fault of a stream")
      case .needsMore: break
      }
    }
    _ = read(stream, inPiecesOf: size, maximumBytes: smallLimit)
  }

  /// What must not depend on the pieces: everything except the text of a fault.
  private enum Outcome: Equatable {
    case value(RedisValue)
    case tooLarge, broken

    init(_ next: ReplyReader.Next) {
      switch next {
      case .value(let value): self = .value(value)
      case .tooLarge: self = .tooLarge
      case .broken, .needsMore: self = .broken
      }
    }
  }

  private static func read(_ stream: [UInt8], inPiecesOf size: Int, maximumBytes: Int) -> [ReplyReader.Next] {
    guard let reader = ReplyReader(maximumBytes: maximumBytes) else { return [] }
    var found: [ReplyReader.Next] = []
    for start in stride(from: 0, to: stream.count, by: size) {
      let piece = Array(stream[start..<min(start + size, stream.count)])
      reader.feed(piece, count: piece.count)
      while true {
        let next = reader.next()
        if next == .needsMore { break }
        found.append(next)
        if case .broken = next { return found }
      }
    }
    return found
  }
}
