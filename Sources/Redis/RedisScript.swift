import Crypto

/// A Lua script, which is called by its digest.
///
/// A script declares the names of its keys and arguments; in its source each name is a local. A function below it gives
/// each a value, in their order, so that its callers name them:
///
///     private static let expireScript = RedisScript(
///       keys: ["name"], arguments: ["ms"], "return redis.call('PEXPIRE', name, ms)")
///
///     static func expire(name: String, ms: Int) -> RedisCall { expireScript.call(keys: name, arguments: ms) }
///
/// The last name of either may end in `...`, for a list of any length. Its local is the number of words before the list:
/// `ARGV[jobs + 1]` is the first word of the arguments `jobs...`.
public struct RedisScript: Sendable {
  /// Lua: the local `now` is the time by the clock of Redis, in unix ms.
  public static let clock = """
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    """

  private static let list = "..."

  let source: String
  /// 40 hexadecimal digits.
  let sha1: String
  private let nameCount: Int

  public init(keys: [String] = [], arguments: [String] = [], _ source: String) {
    nameCount = keys.count + arguments.count
    self.source = RedisScript.locals(keys, of: "KEYS") + RedisScript.locals(arguments, of: "ARGV") + source
    sha1 = SHA1.hex(Array(self.source.utf8))
  }

  private static func local(_ name: String) -> String {
    name.hasSuffix(list) ? String(name.dropLast(list.count)) : name
  }

  private static func locals(_ names: [String], of table: String) -> String {
    let values = names.enumerated().map { $1.hasSuffix(list) ? "\($0)" : "\(table)[\($0 + 1)]" }
    guard !names.isEmpty else { return "" }
    return "local \(names.map(local).joined(separator: ", ")) = \(values.joined(separator: ", "))\n"
  }

  /// Returns a call with a value for each name. Another number of values is a bug.
  public func call<each Key: RedisWords, each Argument: RedisWords>(
    keys: repeat each Key, arguments: repeat each Argument
  ) -> RedisCall {
    var (keyCount, valueCount) = (0, 0)
    for key in repeat each keys {
      keyCount += key.wordCount
      valueCount += 1
    }
    var command = RedisCommand("EVALSHA")
    command.append(sha1)
    command.append(keyCount)
    for key in repeat each keys { key.append(to: &command) }
    for argument in repeat each arguments {
      argument.append(to: &command)
      valueCount += 1
    }
    precondition(valueCount == nameCount, "a script has other names")
    return RedisCall(script: self, command: command)
  }
}

/// A call of a ``RedisScript``.
public struct RedisCall: Sendable {
  let script: RedisScript
  private(set) var command: RedisCommand

  fileprivate init(script: RedisScript, command: RedisCommand) {
    self.script = script
    self.command = command
  }

  /// Continues the list of arguments.
  public mutating func append(_ words: some RedisWords) { words.append(to: &command) }
}

/// What a call gives to a name: one word, or the words of a list.
public protocol RedisWords {
  var wordCount: Int { get }
  func append(to command: inout RedisCommand)
}

extension RedisWords {
  public var wordCount: Int { 1 }
}

extension String: RedisWords {
  public func append(to command: inout RedisCommand) { command.append(self) }
}

extension Int: RedisWords {
  public func append(to command: inout RedisCommand) { command.append(self) }
}

extension Int64: RedisWords {
  public func append(to command: inout RedisCommand) { command.append(self) }
}

extension [UInt8]: RedisWords {
  public func append(to command: inout RedisCommand) { command.append(self) }
}

/// The words of a list.
public struct RedisList: RedisWords {
  private let words: [String]

  public init(_ words: [String] = []) { self.words = words }

  public var wordCount: Int { words.count }

  public func append(to command: inout RedisCommand) {
    for word in words { command.append(word) }
  }
}
