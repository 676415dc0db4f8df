public import EventLoop
public import Telemetry

/// The commands of a process for its Redis: one server, or a cluster.
///
/// The commands of one turn of the loop share one write for each server. Commands are not queued: without a connection
/// they fail with ``RedisError/notSent(_:)``. Blocking commands need a ``RedisConnection`` of their own.
@EventLoop
public final class RedisClient {
  public typealias Completion = RedisConnection.Completion

  /// Called with true when ``isReady`` becomes true and with false when it becomes false.
  public var onStateChange: (@EventLoop (Bool) -> Void)? {
    get { connection.onStateChange }
    set { connection.onStateChange = newValue }
  }

  /// Counts what Redis refuses.
  public var instruments: RedisInstruments? {
    get { connection.instruments }
    set { connection.instruments = newValue }
  }

  private let connection: RedisConnection

  /// Does not connect. `name` appears in CLIENT LIST; `timeout` applies to commands that are sent without one.
  public init(endpoint: RedisEndpoint, name: String, timeout: Duration = .seconds(5), log: Log) {
    connection = RedisConnection(endpoint: endpoint, name: name, timeout: timeout, log: log)
  }

  /// Whether a script and a command of several keys may only have keys of one hash slot.
  public var isCluster: Bool { false }

  /// Whether commands can be sent.
  public var isReady: Bool { connection.isReady }

  /// How often a connection became ready after the first time.
  public var reconnects: Int { connection.reconnects }

  /// Connects, and reconnects until ``close()``.
  public func start() { connection.start() }

  /// Closes all connections permanently. Pending commands fail: ``RedisError/outcomeUnknown(_:)`` when written, else
  /// ``RedisError/notSent(_:)``.
  public func close() { connection.close() }

  /// Waits until commands can be sent.
  ///
  /// Throws ``RedisError/notSent(_:)`` with the reason of the last failed attempt if `within` passes first.
  public func ready(within: Duration) async throws(RedisError) { try await connection.ready(within: within) }

  /// Loads scripts on every connection before it becomes ready, and now if it is ready.
  public func preload(_ scripts: [RedisScript]) { connection.preload(scripts) }

  /// Sends `command`. An error reply is a failure with ``RedisError/reply(_:)``. Calls `completion` exactly once, after
  /// this function has returned.
  public func send(_ command: RedisCommand, timeout: Duration? = nil, _ completion: @escaping Completion) {
    connection.send(command, timeout: timeout, completion)
  }

  /// Sends `command`, which has no key, to the server of `key`.
  public func send(_ command: RedisCommand, toServerOf key: String, _ completion: @escaping Completion) {
    connection.send(command, completion)
  }

  /// How many servers hold keys; more than one in a cluster.
  public var serverCount: Int { 1 }

  /// Sends `command`, which has no key, to one of ``serverCount`` servers.
  public func send(_ command: RedisCommand, toServer server: Int, _ completion: @escaping Completion) {
    connection.send(command, completion)
  }

  /// Calls `script` by its digest. The closure `arguments` appends ARGV.
  ///
  /// If Redis does not know the script (NOSCRIPT), its source is sent once; then it runs after commands that were sent
  /// after it. ``preload(_:)`` makes that rare.
  public func call(
    _ script: RedisScript, keys: [String], timeout: Duration? = nil, arguments: (inout RedisCommand) -> Void,
    _ completion: @escaping Completion
  ) {
    connection.call(script, keys: keys, timeout: timeout, arguments: arguments, completion)
  }

  /// Calls `script` with `arguments` as ARGV; see ``call(_:keys:timeout:arguments:_:)``.
  public func run(
    _ script: RedisScript, keys: [String], arguments: [String] = [], timeout: Duration? = nil,
    _ completion: @escaping Completion
  ) {
    call(
      script, keys: keys, timeout: timeout,
      arguments: { command in for argument in arguments { command.append(argument) } }, completion)
  }
}

// Variants that wait for the reply.
extension RedisClient {
  /// Sends `command` and returns its reply. Throws an error reply as ``RedisError/reply(_:)``.
  public func send(_ command: RedisCommand, timeout: Duration? = nil) async throws(RedisError) -> RedisValue {
    let result = await withCheckedContinuation { continuation in
      send(command, timeout: timeout) { continuation.resume(returning: $0) }
    }
    return try result.get()
  }

  /// Sends `command`, which has no key, to one of ``serverCount`` servers, and returns its reply.
  public func send(_ command: RedisCommand, toServer server: Int) async throws(RedisError) -> RedisValue {
    let result = await withCheckedContinuation { continuation in
      send(command, toServer: server) { continuation.resume(returning: $0) }
    }
    return try result.get()
  }

  /// Calls `script` and returns its reply; see ``call(_:keys:timeout:arguments:_:)``.
  public func call(
    _ script: RedisScript, keys: [String], timeout: Duration? = nil, arguments: (inout RedisCommand) -> Void = { _ in }
  ) async throws(RedisError) -> RedisValue {
    let result = await withCheckedContinuation { continuation in
      call(script, keys: keys, timeout: timeout, arguments: arguments) { continuation.resume(returning: $0) }
    }
    return try result.get()
  }

  /// Calls `script` with `arguments` as ARGV and returns its reply.
  public func run(
    _ script: RedisScript, keys: [String], arguments: [String] = [], timeout: Duration? = nil
  ) async throws(RedisError) -> RedisValue {
    try await call(script, keys: keys, timeout: timeout) { command in
      for argument in arguments { command.append(argument) }
    }
  }
}
