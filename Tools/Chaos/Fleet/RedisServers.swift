import EventLoop

/// The Redis of a fleet, and what can happen to it. One fault at a time.
@EventLoop
protocol RedisServers: AnyObject {
  /// For REDIS_URL.
  var url: String { get }
  /// The port of the server that has every key, at present; nil if there are several.
  var masterPort: Int? { get }
  /// Of each process, by its name.
  var logs: [(name: String, lines: [String])] { get }

  /// Sends a command to the primary that a step concerns. Throws if redis-cli fails.
  func command(_ words: String..., for step: Step) async throws
  /// Ends the primary that a step concerns with SIGKILL, and starts it again.
  func restart(for step: Step) async throws
  /// Injects a fault that only servers in this layout can have.
  func injectOwn(_ step: Step, for duration: Duration) async throws
}

extension RedisServers {
  /// Returns when the fault is over.
  func inject(_ step: Step, for duration: Duration) async throws {
    switch step.kind {
    case .redisKilled: try await restart(for: step)
    case .redisFull:
      try await command("CONFIG", "SET", "maxmemory", "1mb", for: step)
      try await Task.sleep(for: duration)
      try await command("CONFIG", "SET", "maxmemory", "0", for: step)
    case .redisSlow: try await command("DEBUG", "SLEEP", "\(Double(step.milliseconds) / 1000)", for: step)
    case .redisPaused:
      try await command("CLIENT", "PAUSE", String(step.milliseconds), "ALL", for: step)
      try await Task.sleep(for: duration)
    case .scriptsFlushed: try await command("SCRIPT", "FLUSH", for: step)
    case .clientsKilled: try await command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes", for: step)
    default: try await injectOwn(step, for: duration)
    }
  }
}
