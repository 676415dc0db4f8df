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

  /// Whether a key of the command has another type. Redis 6 wraps the error of a script's command.
  public var isWrongType: Bool {
    guard case .reply(let error) = self else { return false }
    return error.code == "WRONGTYPE" || error.message.contains("-WRONGTYPE")
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
    // A client of a cluster follows it.
    case .reply(let error) where error.code == "MOVED":
      "\(error.message): the server belongs to a cluster; write redis+cluster:// in REDIS_URL"
    case .reply(let error): error.message
    }
  }
}

/// An error reply: `-NOSCRIPT No matching script.`
public struct RedisReplyError: Error, Sendable, Equatable {
  /// The first word, such as `OOM`, `NOSCRIPT`, `READONLY` or `ERR`.
  public let code: String
  /// The whole text, including the code.
  public let message: String

  public init(message: String) {
    self.message = message
    code = String(message.prefix { $0 != " " })
  }
}

extension RedisReplyError {
  /// Whether this server cannot be used now: it became a replica, is loading, or requires authentication again.
  ///
  /// A new connection finds the new master, or is retried until the server is back.
  var asksForReconnect: Bool {
    switch code {
    case "READONLY", "UNBLOCKED", "LOADING", "MASTERDOWN", "NOAUTH": true
    // Redis 6 wraps the error of a script's command. Other messages may quote arguments.
    case "ERR": message.hasPrefix("ERR Error running script") && message.contains("-READONLY")
    default: false
    }
  }

  /// Whether the slot of the command's keys is not, or not now, at the server that replied.
  var isOfMovedSlot: Bool { code == "MOVED" || code == "CLUSTERDOWN" }

  /// Whether a script failed by itself, on unexpected data for example, and not one of its commands.
  var isScriptFailure: Bool {
    code == "ERR" && message.contains("user_script:")
      && !message.split(separator: " ").contains { $0.first == "-" && $0.dropFirst().first?.isUppercase == true }
  }

  /// Whether an optional step of the greeting may fail with this error.
  var isHarmlessInGreeting: Bool {
    code == "NOPERM" || (code == "ERR" && !message.hasPrefix("ERR max number of clients"))
  }
}
