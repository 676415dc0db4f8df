/// Why a command has no reply.
public enum RedisError: Error, Sendable, Equatable {
  /// A setting is invalid. The text names the part but never contains the password.
  case configuration(String)
  /// The command was not sent, so it is safe to send it again.
  case notSent(String)
  /// The connection was lost or the deadline passed after the command was written, at least in part: it may have run.
  case outcomeUnknown(String)
  /// Redis replied with an error.
  case reply(RedisReplyError)
  /// Redis ran the command, but its reply exceeds a limit and was dropped. The text names the limit.
  case replyTooLarge(String)

  /// Whether Redis works but refused this command. False for errors that end the connection, which logs them itself.
  public var isRefusal: Bool {
    switch self {
    case .reply(let error): !error.asksForReconnect
    case .replyTooLarge: true
    case .configuration, .notSent, .outcomeUnknown: false
    }
  }

  /// Whether the connection has logged the error: nothing was sent.
  public var isNotSent: Bool {
    if case .notSent = self { true } else { false }
  }

  /// Whether a key of the command has another type.
  public var isWrongType: Bool {
    guard case .reply(let error) = self else { return false }
    return error.cause == "WRONGTYPE"
  }

  /// Whether the content of the command's keys causes the error: other commands succeed, and this one fails again.
  public var isOfThisCommand: Bool {
    switch self {
    case .reply(let error): isWrongType || error.isScriptFailure
    case .replyTooLarge: true
    case .configuration, .notSent, .outcomeUnknown: false
    }
  }
}

extension RedisError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .configuration(let text), .notSent(let text), .replyTooLarge(let text): text
    case .outcomeUnknown(let text): "outcome unknown: \(text)"
    case .reply(let error) where error.isRedirection:
      "\(error.message): "
        + (error.wasFollowed
          ? "the servers of the cluster do not agree where the slot is; see redis-cli --cluster check"
          : "the server belongs to a cluster; write redis+cluster:// in REDIS_URL")
    case .reply(let error): error.message
    }
  }
}

extension RedisError {
  /// The error with the keys of the command, if one of them has another type.
  func naming(_ keys: @autoclosure () -> [String]) -> RedisError {
    guard isWrongType, case .reply(var error) = self else { return self }
    error.keys = keys()
    return .reply(error)
  }
}

/// An error reply: `-NOSCRIPT No matching script.`
public struct RedisReplyError: Error, Sendable, Equatable {
  /// The first word, such as `OOM`, `NOSCRIPT`, `READONLY` or `ERR`.
  public let code: String
  /// The whole text, including the code.
  public let message: String
  /// The keys of the command, if one of them has another type and the caller waited for the reply.
  public internal(set) var keys: [String] = []
  /// Of a redirection, whether a client of a cluster has followed it until it gave up.
  var wasFollowed = false

  public init(message: String) {
    self.message = message
    code = String(message.prefix { $0 != " " })
  }
}

extension RedisReplyError {
  /// The code of the error that a command met, also if the command was one of a script.
  ///
  /// Redis 6 wraps such an error: `ERR Error running script (call to f_…): @user_script:1: @user_script: 1: -OOM command
  /// not allowed …`, `…: @user_script:1: WRONGTYPE Operation against …`, or in a table of `redis.pcall` without the words
  /// before the first `@`. ``code`` if there is no such code. Other messages may quote arguments.
  var cause: String {
    let wrapping = "ERR Error running script"
    let forbidden = "The user executing the script can't"
    // Redis 7.0, and 7.2 and Valkey.
    if message.hasPrefix("ERR " + forbidden) || message.hasPrefix("ERR ACL failure in script") { return "NOPERM" }
    var rest = message[...]
    if message.hasPrefix(wrapping) {
      rest = rest.dropFirst(wrapping.count)
      if rest.hasPrefix(" (call to ") { rest = rest.drop { $0 != ")" }.dropFirst() }
      rest = rest.drop { $0 == ":" || $0 == " " }
    } else if !message.hasPrefix("@user_script:") {
      return code
    }
    while rest.hasPrefix("@user_script:") || rest.hasPrefix("user_script:") {
      rest = rest.drop { $0 != ":" }.drop { $0 == ":" || $0 == " " || $0.isNumber }
    }
    if rest.hasPrefix(forbidden) { return "NOPERM" }
    let word = rest.drop { $0 == "-" }.prefix { $0 != " " }
    return !word.isEmpty && word.allSatisfy { $0.isASCII && $0.isUppercase } ? String(word) : code
  }

  /// Whether this server cannot be used now: it became a replica, is loading, or requires authentication again.
  ///
  /// A new connection finds the new master, or is retried until the server is back.
  var asksForReconnect: Bool {
    switch cause {
    case "READONLY", "UNBLOCKED", "LOADING", "MASTERDOWN", "NOAUTH": true
    default: false
    }
  }

  var isRedirection: Bool { code == "MOVED" || code == "ASK" }

  /// Whether the slot of the command's keys is not, or not now, at the server that replied.
  var isOfMovedSlot: Bool { code == "MOVED" || code == "CLUSTERDOWN" }

  /// Whether a script failed by itself, on unexpected data for example, and not one of its commands.
  var isScriptFailure: Bool {
    cause == "ERR" && message.contains("user_script:")
  }

  /// Whether an optional step of the greeting may fail with this error.
  var isHarmlessInGreeting: Bool {
    code == "NOPERM" || (code == "ERR" && !message.hasPrefix("ERR max number of clients"))
  }
}
