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

  /// Redis said no to the command; of errors that cost the connection the connection itself tells.
  public var isRefusal: Bool {
    if case .reply(let error) = self { !error.asksForReconnect } else { false }
  }
}

extension RedisError {
  /// The key of the command holds another type; redis 6 wraps what a script's command answered.
  public var isWrongType: Bool {
    guard case .reply(let error) = self else { return false }
    return error.code == "WRONGTYPE" || error.message.contains("-WRONGTYPE")
  }
}

extension RedisError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .configuration(let text), .notSent(let text): text
    case .outcomeUnknown(let text): "outcome unknown: \(text)"
    case .reply(let error): error.message
    }
  }
}
