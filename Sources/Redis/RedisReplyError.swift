/// An error reply: `-NOSCRIPT No matching script.`
public struct RedisReplyError: Error, Sendable, Equatable {
  /// The first word: `OOM`, `NOSCRIPT`, `READONLY`, `ERR`.
  public let code: String
  /// The whole text, the code included.
  public let message: String

  public init(message: String) {
    self.message = message
    code = String(message.prefix { $0 != " " })
  }
}

extension RedisReplyError {
  /// Whether this server cannot be worked with now: it became a replica, is loading, or has forgotten who we are.
  ///
  /// A new connection finds the new master, or waits until the server is back.
  var asksForReconnect: Bool {
    switch code {
    case "READONLY", "UNBLOCKED", "LOADING", "MASTERDOWN", "NOAUTH": true
    // Redis 6 wraps what a script's command answered. Other messages may quote arguments.
    case "ERR": message.hasPrefix("ERR Error running script") && message.contains("-READONLY")
    default: false
    }
  }

  /// Whether a script itself failed, as on data that it did not expect, and none of its commands.
  var isScriptFailure: Bool {
    code == "ERR" && message.contains("user_script:")
      && !message.split(separator: " ").contains { $0.first == "-" && $0.dropFirst().first?.isUppercase == true }
  }

  /// Whether a step of the greeting that is only a courtesy may fail like this.
  var isHarmlessInGreeting: Bool {
    code == "NOPERM" || (code == "ERR" && !message.hasPrefix("ERR max number of clients"))
  }
}
