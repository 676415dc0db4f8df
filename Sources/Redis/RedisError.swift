/// Why there is no answer. The cases tell a caller what it may do next.
public enum RedisError: Error, Sendable, Equatable {
  /// The settings are wrong; the text says which part, never the password.
  case configuration(String)
  /// Nothing was written: safe to do again.
  case notSent(String)
  /// Written, or partly written, and then the connection died or the deadline passed: it may have happened.
  case outcomeUnknown(String)
  /// Redis said no.
  case reply(RedisReplyError)
  /// Redis ran the command; its reply exceeds a limit and was dropped. The text says which limit.
  case replyTooLarge(String)

  /// The command has no result although redis works; of errors that cost the connection the connection itself tells.
  public var isRefusal: Bool {
    switch self {
    case .reply(let error): !error.asksForReconnect
    case .replyTooLarge: true
    case .configuration, .notSent, .outcomeUnknown: false
    }
  }
}

extension RedisError {
  /// The key of the command holds another type; redis 6 wraps what a script's command answered.
  public var isWrongType: Bool {
    guard case .reply(let error) = self else { return false }
    return error.code == "WRONGTYPE" || error.message.contains("-WRONGTYPE")
  }
}

extension RedisError {
  /// What the command's own keys hold is at fault, and not redis: other commands succeed, and this one fails again.
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
    case .reply(let error): error.message
    }
  }
}
