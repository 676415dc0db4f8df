/// A command and its arguments, binary safe, in one contiguous buffer.
public struct RedisCommand: Sendable {
  private var bytes: [UInt8] = []
  /// The end of each word in `bytes`.
  private var ends: [Int] = []

  private static let expectedBytes = 256
  private static let expectedWords = 8

  public init(_ name: StaticString) {
    bytes.reserveCapacity(RedisCommand.expectedBytes)
    ends.reserveCapacity(RedisCommand.expectedWords)
    append(name)
  }

  public init(_ name: StaticString, _ arguments: String...) {
    self.init(name)
    for argument in arguments { append(argument) }
  }

  public mutating func append(_ argument: String) {
    bytes.append(contentsOf: argument.utf8)
    ends.append(bytes.count)
  }

  public mutating func append(_ argument: [UInt8]) {
    bytes.append(contentsOf: argument)
    ends.append(bytes.count)
  }

  public mutating func append(_ argument: ArraySlice<UInt8>) {
    bytes.append(contentsOf: argument)
    ends.append(bytes.count)
  }

  public mutating func append(_ argument: StaticString) {
    argument.withUTF8Buffer { bytes.append(contentsOf: $0) }
    ends.append(bytes.count)
  }

  public mutating func append(_ argument: some BinaryInteger) {
    append(String(argument))
  }

  public consuming func with(_ argument: String) -> RedisCommand {
    append(argument)
    return self
  }

  public consuming func with(_ argument: [UInt8]) -> RedisCommand {
    append(argument)
    return self
  }

  public consuming func with(_ argument: some BinaryInteger) -> RedisCommand {
    append(argument)
    return self
  }

  /// The words as they go out, the name first.
  package var words: [[UInt8]] {
    var start = 0
    return ends.map { end in
      defer { start = end }
      return Array(bytes[start..<end])
    }
  }

  /// The same keys and arguments for EVAL: the name and the digest give way to the name and the source.
  func evaluating(_ source: String) -> RedisCommand {
    var command = RedisCommand("EVAL")
    command.append(source)
    let start = ends[1]
    let shift = command.bytes.count - start
    command.bytes.append(contentsOf: bytes[start...])
    for end in ends[2...] { command.ends.append(end + shift) }
    return command
  }

  /// Calls `body` with all bytes and the ends of the words.
  func withWords<T>(_ body: (UnsafeBufferPointer<UInt8>, [Int]) -> T) -> T {
    bytes.withUnsafeBufferPointer { body($0, ends) }
  }
}
