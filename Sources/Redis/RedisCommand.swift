import CHiredis
import JSON

/// A command and its arguments, which may be any bytes, in one contiguous buffer.
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

  public init(_ name: StaticString, _ arguments: some Sequence<String>) {
    self.init(name)
    for argument in arguments { append(argument) }
  }

  public init(_ name: StaticString, _ arguments: some Sequence<[UInt8]>) {
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

  /// The hash slot of the first key; nil if the command has none.
  var slot: Int? {
    guard let word = keyWord, word < ends.count else { return nil }
    return HashSlot.of(self[word])
  }

  /// All keys of a call to a script, else the first key.
  var keys: [String] {
    guard let word = keyWord, word < ends.count else { return [] }
    let count = word == 1 ? 1 : String(decoding: self[2], as: UTF8.self).integer(in: 0...ends.count - word) ?? 1
    return (word..<word + count).map { String(decoding: self[$0], as: UTF8.self) }
  }

  /// The place of the first key among the words, of the commands that Martlet sends.
  private var keyWord: Int? {
    switch String(decoding: self[0], as: UTF8.self) {
    case "EVALSHA", "EVAL": ends.count > 3 && !self[2].elementsEqual("0".utf8) ? 3 : nil
    case "PING", "TIME", "INFO", "CLIENT", "SCRIPT", "ROLE", "SCAN", "CONFIG", "CLUSTER", "ASKING", "DBSIZE", "ACL",
      "COMMAND", "MEMORY":
      nil
    default: 1
    }
  }

  private subscript(word: Int) -> ArraySlice<UInt8> { bytes[(word == 0 ? 0 : ends[word - 1])..<ends[word]] }

  /// Of an MGET the GET of each key; nil for any other command, and for an MGET of one key.
  var gets: [RedisCommand]? {
    guard ends.count > 2, self[0].elementsEqual("MGET".utf8) else { return nil }
    return (1..<ends.count).map { word in
      var get = RedisCommand("GET")
      get.append(self[word])
      return get
    }
  }

  /// The number of words, with the name.
  package var wordCount: Int { ends.count }

  /// The name and the arguments as they are sent.
  package var words: [[UInt8]] {
    var start = 0
    return ends.map { end in
      defer { start = end }
      return Array(bytes[start..<end])
    }
  }

  /// Returns an EVAL command with `source` and the keys and arguments of this EVALSHA command.
  func evaluating(_ source: String) -> RedisCommand {
    var command = RedisCommand("EVAL")
    command.append(source)
    let start = ends[1]
    let shift = command.bytes.count - start
    command.bytes.append(contentsOf: bytes[start...])
    for end in ends[2...] { command.ends.append(end + shift) }
    return command
  }

  /// Calls `body` with the bytes of all words and the end of each word.
  func withWords<T>(_ body: (UnsafeBufferPointer<UInt8>, [Int]) -> T) -> T {
    bytes.withUnsafeBufferPointer { body($0, ends) }
  }
}

/// Encodes commands in RESP 2 with hiredis.
enum RequestFormatter {
  /// Returns false if memory is exhausted.
  static func append(_ command: RedisCommand, to output: inout [UInt8]) -> Bool {
    command.withWords { bytes, ends in
      withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: ends.count) { words in
        withUnsafeTemporaryAllocation(of: Int.self, capacity: ends.count) { lengths in
          var start = 0
          for (index, end) in ends.enumerated() {
            words[index] = bytes.baseAddress.map { UnsafeRawPointer($0 + start).assumingMemoryBound(to: CChar.self) }
            lengths[index] = end - start
            start = end
          }
          var formatted: UnsafeMutablePointer<CChar>?
          // This variant does not use printf for each word and takes a tenth of the instructions.
          let count = redisFormatSdsCommandArgv(&formatted, Int32(ends.count), words.baseAddress, lengths.baseAddress)
          guard count >= 0, let formatted else { return false }
          output.append(contentsOf: UnsafeRawBufferPointer(start: formatted, count: Int(count)))
          redisFreeSdsCommand(formatted)
          return true
        }
      }
    }
  }
}
