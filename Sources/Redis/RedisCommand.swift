import JSON

/// A command and its arguments, which may be any bytes, as RESP 2 has them.
public struct RedisCommand: Sendable {
  /// The words as they are sent. The line with their number goes before them.
  private var bytes: [UInt8] = []
  /// The number of words, with the name.
  package private(set) var wordCount = 0

  private static let expectedBytes = 256
  /// Maximum bytes of a line with a length and of the end of a word.
  private static let maximumFraming = 32

  public init(_ name: StaticString) {
    bytes.reserveCapacity(RedisCommand.expectedBytes)
    append(name)
  }

  public init(_ name: StaticString, _ arguments: String...) {
    self.init(name)
    for argument in arguments { append(argument) }
  }

  public init(_ name: StaticString, _ arguments: some Sequence<String>) {
    self.init(name)
    for argument in arguments { append(argument) }
  }

  public init(_ name: StaticString, _ arguments: some Sequence<[UInt8]>) {
    self.init(name)
    for argument in arguments { append(argument) }
  }

  public mutating func append(_ argument: String) {
    argument.utf8.span.withUnsafeBufferPointer { append($0) }
  }

  public mutating func append(_ argument: [UInt8]) {
    argument.withUnsafeBufferPointer { append($0) }
  }

  public mutating func append(_ argument: ArraySlice<UInt8>) {
    argument.withUnsafeBufferPointer { append($0) }
  }

  public mutating func append(_ argument: StaticString) {
    argument.withUTF8Buffer { append($0) }
  }

  public mutating func append(_ argument: some BinaryInteger) {
    append(Int64(argument).description)
  }

  /// One append for the word and what frames it is twice as fast as one for each part.
  private mutating func append(_ word: UnsafeBufferPointer<UInt8>) {
    wordCount += 1
    bytes.append(addingCapacity: word.count + RedisCommand.maximumFraming) { (room: inout OutputSpan<UInt8>) in
      room.appendLength(UInt8(ascii: "$"), word.count)
      room.withUnsafeMutableBufferPointer { room, count in count = room[count...].initialize(fromContentsOf: word) }
      room.appendLineEnd()
    }
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

  /// Appends the command as it is sent.
  func write(to output: inout [UInt8]) {
    output.append(addingCapacity: RedisCommand.maximumFraming) { (room: inout OutputSpan<UInt8>) in
      room.appendLength(UInt8(ascii: "*"), wordCount)
    }
    output.append(contentsOf: bytes)
  }

  /// Returns an EVAL command with `source` and the keys and arguments of this EVALSHA command.
  func evaluating(_ source: String) -> RedisCommand {
    var command = RedisCommand("EVAL", source)
    for word in words.dropFirst(2) { command.append(word) }
    return command
  }
}

// What the words say.
extension RedisCommand {
  /// The name and the arguments, read one after the other.
  package struct Words: Sequence, IteratorProtocol {
    fileprivate var rest: ArraySlice<UInt8>

    package mutating func next() -> ArraySlice<UInt8>? {
      guard let lineEnd = rest.firstIndex(of: UInt8(ascii: "\r")) else { return nil }
      let count = rest[..<lineEnd].dropFirst().reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
      let word = rest[(lineEnd + 2)...].prefix(count)
      rest = rest[(word.endIndex + 2)...]
      return word
    }
  }

  package var words: Words { Words(rest: bytes[...]) }

  /// The hash slot of the first key; nil if the command has none.
  var slot: Int? { keys(atMost: 1).first.map { HashSlot.of($0) } }

  /// All keys of a call to a script, else the first key.
  var keys: [String] { keys(atMost: wordCount).map { String(decoding: $0, as: UTF8.self) } }

  /// The first of the ``keys``, of the commands that Martlet sends.
  private func keys(atMost maximum: Int) -> [ArraySlice<UInt8>] {
    let beginning = Array(words.prefix(3))
    switch String(decoding: beginning[0], as: UTF8.self) {
    case "EVALSHA", "EVAL":
      guard wordCount > 3 else { return [] }
      let count = String(decoding: beginning[2], as: UTF8.self).integer(in: 0...wordCount - 3) ?? 1
      return Array(words.dropFirst(3).prefix(min(count, maximum)))
    case "PING", "TIME", "INFO", "CLIENT", "SCRIPT", "ROLE", "SCAN", "CONFIG", "CLUSTER", "ASKING", "DBSIZE", "ACL",
      "COMMAND", "MEMORY":
      return []
    default: return Array(beginning.dropFirst().prefix(1))
    }
  }

  /// Of an MGET the GET of each key; nil for any other command, and for an MGET of one key.
  var gets: [RedisCommand]? {
    guard wordCount > 2, bytes.starts(with: "$4\r\nMGET\r\n".utf8) else { return nil }
    return words.dropFirst().map { word in
      var get = RedisCommand("GET")
      get.append(word)
      return get
    }
  }
}

extension OutputSpan<UInt8> {
  /// Appends a line of a type and a length.
  fileprivate mutating func appendLength(_ type: UInt8, _ length: Int) {
    append(type)
    appendDigits(length)
    appendLineEnd()
  }

  private mutating func appendDigits(_ number: Int) {
    if number > 9 { appendDigits(number / 10) }
    append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10))
  }

  fileprivate mutating func appendLineEnd() {
    append(UInt8(ascii: "\r"))
    append(UInt8(ascii: "\n"))
  }
}
