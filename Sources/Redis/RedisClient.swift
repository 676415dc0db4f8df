public import EventLoop
public import Telemetry

/// What commands are sent through: one connection, or the connections of a cluster.
@EventLoop
protocol CommandLink: AnyObject {
  var onStateChange: (@EventLoop (Bool) -> Void)? { get set }
  var instruments: RedisInstruments? { get set }
  var isReady: Bool { get }
  var reconnects: Int { get }
  var failure: String? { get }

  func start()
  func close()
  func ready(within: Duration) async throws(RedisError)
  func preload(_ scripts: [RedisScript])
}

extension RedisConnection: CommandLink {}
extension ClusterRouter: CommandLink {}

/// The commands of a process for its Redis: one server, or a cluster.
///
/// The commands of one turn of the loop share one write for each server. Commands are not queued: without a connection
/// they fail with ``RedisError/notSent(_:)``. Blocking commands need a ``RedisConnection`` of their own.
@EventLoop
public final class RedisClient {
  public typealias Completion = RedisConnection.Completion

  private enum Server {
    case one(RedisConnection)
    case cluster(ClusterRouter)
  }

  private let server: Server
  private var link: any CommandLink {
    switch server {
    case .one(let connection): connection
    case .cluster(let router): router
    }
  }

  /// Does not connect. `name` appears in CLIENT LIST; `timeout` applies to commands that are sent without one.
  public init(endpoint: RedisEndpoint, name: String, timeout: Duration = .seconds(5), log: Log) {
    server =
      endpoint.isCluster
      ? .cluster(ClusterRouter(endpoint: endpoint, name: name, timeout: timeout, log: log))
      : .one(RedisConnection(endpoint: endpoint, name: name, timeout: timeout, log: log))
  }

  isolated deinit {
    close()
  }

  // MARK: - State

  /// Called with true when ``isReady`` becomes true and with false when it becomes false. In a cluster also, one after
  /// the other, when a key of ``require(_:)`` has got another server.
  public var onStateChange: (@EventLoop (Bool) -> Void)? {
    get { link.onStateChange }
    set { link.onStateChange = newValue }
  }

  /// Counts what Redis refuses.
  public var instruments: RedisInstruments? {
    get { link.instruments }
    set { link.instruments = newValue }
  }

  /// Whether a script, and a command of several keys other than MGET, may only have keys of one hash slot.
  public var isCluster: Bool {
    if case .cluster = server { true } else { false }
  }

  /// Whether commands can be sent. In a cluster: to the servers of the keys of ``require(_:)``, or to all of them.
  public var isReady: Bool { link.isReady }

  /// Why commands cannot be sent; nil if they can, or if nothing has failed yet.
  public var failure: String? { isReady ? nil : link.failure }

  /// How often a connection became ready after the first time.
  public var reconnects: Int { link.reconnects }

  /// Limits what ``isReady`` depends on, in a cluster: the servers of other keys may fail meanwhile.
  public func require(_ keys: [String]) {
    if case .cluster(let router) = server { router.require(keys) }
  }

  /// Connects, and reconnects until ``close()``.
  public func start() { link.start() }

  /// Closes all connections permanently. Pending commands fail: ``RedisError/outcomeUnknown(_:)`` when written, else
  /// ``RedisError/notSent(_:)``.
  public func close() { link.close() }

  /// Waits until commands can be sent.
  ///
  /// Throws ``RedisError/notSent(_:)`` with the reason of the last failed attempt if `within` passes first.
  public func ready(within: Duration) async throws(RedisError) { try await link.ready(within: within) }

  // MARK: - Commands

  /// Loads scripts on every connection before it becomes ready, and now if it is ready.
  public func preload(_ scripts: [RedisScript]) { link.preload(scripts) }

  /// Sends `command`. An error reply is a failure with ``RedisError/reply(_:)``. Calls `completion` exactly once, after
  /// this function has returned.
  public func send(_ command: RedisCommand, timeout: Duration? = nil, _ completion: @escaping Completion) {
    switch server {
    case .one(let connection): connection.send(command, timeout: timeout, completion)
    case .cluster(let router):
      if let gets = command.gets {
        router.send(gets: gets, timeout: timeout, completion)
      } else {
        router.send(command, timeout: timeout, completion)
      }
    }
  }

  /// Sends `command`, which has no key, to the server of `key`.
  public func send(
    _ command: RedisCommand, toServerOf key: String, timeout: Duration? = nil, _ completion: @escaping Completion
  ) {
    switch server {
    case .one(let connection): connection.send(command, timeout: timeout, completion)
    case .cluster(let router): router.send(command, slot: HashSlot.of(key), timeout: timeout, completion)
    }
  }

  /// Calls a script by its digest.
  ///
  /// If Redis does not know the script (NOSCRIPT), its source is sent once; then it runs after commands that were sent
  /// after it. ``preload(_:)`` makes that rare.
  public func send(_ call: RedisCall, timeout: Duration? = nil, _ completion: @escaping Completion) {
    switch server {
    case .one(let connection): connection.send(call, timeout: timeout, completion)
    case .cluster(let router): router.send(call.command, of: call.script, timeout: timeout, completion)
    }
  }

  // MARK: - Each server

  /// The number of servers that have keys; 1 unless this is a cluster.
  public var serverCount: Int {
    switch server {
    case .one: 1
    case .cluster(let router): router.addresses.count
    }
  }

  /// Which of ``serverCount`` servers has a key; nil while none has.
  public func server(of key: String) -> Int? {
    switch server {
    case .one: 0
    case .cluster(let router): router.place(of: HashSlot.of(key))
    }
  }

  /// How often slots have moved between the servers of a cluster. What was read of each server in turn is only
  /// complete if this is the same before and after.
  public var topologyChanges: Int {
    switch server {
    case .one: 0
    case .cluster(let router): router.changes
    }
  }

  /// Sends `command`, which has no key, to one of ``serverCount`` servers.
  public func send(_ command: RedisCommand, toServer index: Int, _ completion: @escaping Completion) {
    switch server {
    case .one(let connection): connection.send(command, completion)
    case .cluster(let router):
      guard router.addresses.indices.contains(index) else {
        return EventLoop.atEndOfTurn { completion(.failure(.notSent("the servers of the cluster have changed"))) }
      }
      router.send(command, to: router.addresses[index], completion)
    }
  }
}

// Variants that wait for the reply.
extension RedisClient {
  /// Sends `command` and returns its reply. Throws an error reply as ``RedisError/reply(_:)``.
  public func send(_ command: RedisCommand, timeout: Duration? = nil) async throws(RedisError) -> RedisValue {
    let result = await withCheckedContinuation { continuation in
      send(command, timeout: timeout) { continuation.resume(returning: $0) }
    }
    return try result.mapError { $0.naming(command.keys) }.get()
  }

  /// Calls a script and returns its reply; see ``send(_:timeout:_:)``.
  public func send(_ call: RedisCall, timeout: Duration? = nil) async throws(RedisError) -> RedisValue {
    let result = await withCheckedContinuation { continuation in
      send(call, timeout: timeout) { continuation.resume(returning: $0) }
    }
    return try result.mapError { $0.naming(call.command.keys) }.get()
  }

  /// Sends `command`, which has no key, to one of ``serverCount`` servers and returns its reply.
  public func send(_ command: RedisCommand, toServer index: Int) async throws(RedisError) -> RedisValue {
    let result = await withCheckedContinuation { continuation in
      send(command, toServer: index) { continuation.resume(returning: $0) }
    }
    return try result.get()
  }
}

extension RedisClient {
  /// Sends all commands at once and returns their replies, in the order of the commands.
  public func exchange(_ commands: [RedisCommand]) async -> [Result<RedisValue, RedisError>] {
    await EventLoop.gather(commands) { command, reply in
      send(command) { reply($0.mapError { $0.naming(command.keys) }) }
    }
  }

  /// Sends all commands at once and returns their replies, in the order of the commands. A key of another type counts as
  /// absent; any other error is thrown.
  public func replies(to commands: [RedisCommand]) async throws(RedisError) -> [RedisValue] {
    var values: [RedisValue] = []
    for reply in await exchange(commands) { values.append(try reply.absentIfWrongType()) }
    return values
  }
}

extension Result<RedisValue, RedisError> {
  /// The value; null for an error that says that the key has another type.
  public func absentIfWrongType() throws(RedisError) -> RedisValue {
    if case .failure(let error) = self, error.isWrongType { return .null }
    return try get()
  }
}

// Reading all strings of a kind, of any number, in parts.
extension RedisClient {
  /// Approximate number of keys of one SCAN.
  private static let scanCount = 1000

  /// Some strings of one server, and where the next part begins; `0` after the last.
  public typealias ScannedPage = (entries: [(key: [UInt8], value: [UInt8]?)], next: String)

  /// Reads some of the strings of a server whose key begins with `prefix`. Those that change meanwhile may occur twice.
  public func page(
    ofStrings prefix: String, server: Int, from cursor: String
  ) async throws(RedisError) -> ScannedPage {
    let (keys, next) = try await keys(like: "\(prefix)*", server: server, from: cursor)
    guard !keys.isEmpty else { return ([], next) }
    let values = try await send(RedisCommand("MGET", keys)).array ?? []
    return (zip(keys, values).map { ($0, $1.bytes) }, next)
  }

  /// Reads some of the keys of a server that match a pattern of SCAN, and where the next part begins; `0` after the last.
  /// `type`: of their values, as TYPE names it; nil for any. Keys that change meanwhile may occur twice.
  public func keys(
    like pattern: String = "*", type: String? = nil, server: Int, from cursor: String
  ) async throws(RedisError) -> (keys: [[UInt8]], next: String) {
    var scan = RedisCommand("SCAN", cursor, "MATCH", pattern, "COUNT").with(RedisClient.scanCount)
    if let type { scan = scan.with("TYPE").with(type) }
    let reply = try await send(scan, toServer: server).array ?? []
    guard reply.count == 2, let next = reply[0].string else { return ([], "0") }
    return ((reply[1].array ?? []).compactMap(\.bytes), next)
  }
}
