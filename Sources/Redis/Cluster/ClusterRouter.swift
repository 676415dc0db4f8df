import EventLoop
import Telemetry

/// Sends each command to the server of a cluster that has the slot of its key, and follows the slots as they move.
///
/// Each server has one connection: the commands of one turn of the loop share one write for each. The answers to the
/// commands of one slot arrive in the order in which they were carried out: before the commands of a slot go to its new
/// server, the old one has answered all of them.
@EventLoop
final class ClusterRouter {
  /// Between two attempts of a command whose keys are being moved.
  private static let movePause = Duration.milliseconds(20)

  var onStateChange: (@EventLoop (Bool) -> Void)?
  var instruments: RedisInstruments? {
    didSet { for server in servers.values { server.connection.instruments = instruments } }
  }

  /// Whether the servers of ``requiredSlots`` can be used; of all slots if none is required.
  private(set) var isReady = false
  /// How often the topology has changed.
  private(set) var changes = 0

  private let endpoint: RedisEndpoint
  private let name: String
  private let timeout: Duration
  private let log: Log
  private let watch: TopologyWatch
  private var topology = ClusterTopology()
  private var servers: [ClusterTopology.Server: ClusterServer] = [:]
  private var scripts: [RedisScript] = []
  private var requiredSlots: Set<Int> = []
  /// The commands of slots whose old server has not answered all commands yet.
  private var waitingBySlot: [Int: [ClusterRequest]] = [:]
  /// The commands that are tried again after ``movePause``.
  private var delayed: [ClusterRequest] = []
  private var delayTimer: LoopTimer?
  private var reconnectsOfRetired = 0
  private(set) var isClosed = false
  private let waiters = ReadinessWaiters()

  init(endpoint: RedisEndpoint, name: String, timeout: Duration, log: Log) {
    self.endpoint = endpoint
    self.name = name
    self.timeout = timeout
    self.log = log
    watch = TopologyWatch(endpoint, log: log)
    watch.onTopology = { [weak self] topology in self?.use(topology) }
  }

  var reconnects: Int { servers.values.reduce(reconnectsOfRetired) { $0 + $1.connection.reconnects } }

  func start() { refresh() }

  func close() {
    guard !isClosed else { return }
    isClosed = true
    watch.stop()
    for server in servers.values { server.connection.close() }
    let requests = waitingBySlot.values.flatMap { $0 } + delayed
    (waitingBySlot, delayed, delayTimer) = ([:], [], nil)
    for request in requests { request.fail("the connection to redis was closed") }
    waiters.resume(.failure(.notSent("the connection to redis was closed")))
    setReady(false)
  }

  func preload(_ scripts: [RedisScript]) {
    for script in scripts where !self.scripts.contains(where: { $0.sha1 == script.sha1 }) {
      self.scripts.append(script)
    }
    for server in servers.values { server.connection.preload(scripts) }
  }

  /// ``isReady`` depends on the servers of these keys alone.
  func require(_ keys: [String]) {
    requiredSlots = Set(keys.map { HashSlot.of($0) })
    update()
  }

  func ready(within: Duration) async throws(RedisError) {
    if isReady { return }
    try await waiters.wait(within) { [weak self] in
      let reason = self?.whyNotReady ?? "the connection to redis was closed"
      return .notSent("the cluster was not ready within \(within): \(reason); check REDIS_URL and the servers")
    }
  }
}

// MARK: - Commands

extension ClusterRouter {
  /// Sends `command` to the server of its first key; a command without a key to any server that is ready.
  func send(
    _ command: RedisCommand, of script: RedisScript? = nil, slot: Int? = nil, timeout: Duration?,
    _ completion: @escaping RedisConnection.Completion
  ) {
    let request = ClusterRequest(
      command, of: script, slot: slot ?? command.slot, timeout: timeout, patience: self.timeout, completion)
    route(request)
  }

  /// Sends an MGET as a GET to the server of each key. The reply has the values in the order of the keys.
  func send(gets: [RedisCommand], timeout: Duration?, _ completion: @escaping RedisConnection.Completion) {
    EventLoop.gather(gets) {
      send($0, timeout: timeout, $1)
    } completion: { replies in
      // MGET has no value for a key of another type, either.
      completion(
        Result { () throws(RedisError) in
          .array(try replies.map { reply throws(RedisError) in try reply.absentIfWrongType() })
        })
    }
  }

  /// The servers that have slots, in a fixed order.
  var addresses: [ClusterTopology.Server] { topology.servers.sorted { $0.summary < $1.summary } }

  /// The place in ``addresses`` of the server that has a slot.
  func place(of slot: Int) -> Int? { topology[slot].flatMap { addresses.firstIndex(of: $0) } }

  func send(
    _ command: RedisCommand, to address: ClusterTopology.Server, _ completion: @escaping RedisConnection.Completion
  ) {
    server(address).connection.send(command, completion)
  }

  private func route(_ request: ClusterRequest) {
    guard !isClosed else { return request.fail("the connection to redis was closed") }
    guard let slot = request.slot else {
      guard let server = anyServer else { return request.fail("not connected to redis: \(whyNotReady)") }
      return forward(request, to: server)
    }
    if waitingBySlot[slot] != nil {
      waitingBySlot[slot]?.append(request)
      return
    }
    guard let address = topology[slot] else {
      refresh()
      return request.fail(
        watch.failure.map { "not connected to redis: \($0)" }
          ?? "no server of the cluster has slot \(slot): check it with redis-cli --cluster check")
    }
    let server = server(address)
    server.whenOpen { [self] in forward(request, to: server) }
  }

  private func forward(_ request: ClusterRequest, to server: ClusterServer) {
    let finish: RedisConnection.Completion = { [self] result in take(result, of: request, from: server) }
    guard let script = request.script else {
      return server.connection.send(request.command, timeout: request.timeout, finish)
    }
    server.connection.run(request.command, of: script, timeout: request.timeout, finish)
  }

  private func take(_ result: Result<RedisValue, RedisError>, of request: ClusterRequest, from server: ClusterServer) {
    switch result {
    case .success: return request.finish(result)
    case .failure(.reply(var error)):
      guard let redirection = Redirection(error, from: server.address) else { return request.finish(result) }
      guard request.mayContinue, !isClosed else {
        error.wasFollowed = true
        return request.finish(.failure(.reply(error)))
      }
      follow(redirection, request, from: server, or: result)
    case .failure(.notSent), .failure(.outcomeUnknown):
      refresh()
      request.finish(result)
    case .failure: request.finish(result)
    }
  }

  private func follow(
    _ redirection: Redirection, _ request: ClusterRequest, from server: ClusterServer,
    or result: Result<RedisValue, RedisError>
  ) {
    switch redirection {
    case .moved(let slot, let address):
      request.countRedirection()
      if topology[slot] != address {
        topology.move(slot: slot, to: address)
        changed([slot], from: [server])
        refresh()
      }
      if request.isBouncing { routeLater(request) } else { route(request) }
    case .ask(let address):
      request.countRedirection()
      ask(request, self.server(address))
    case .tryAgain: routeLater(request)
    case .unavailable:
      refresh()
      request.finish(result)
    }
  }

  /// Sends one command to the server that its key is being moved to.
  private func ask(_ request: ClusterRequest, _ server: ClusterServer) {
    server.whenOpen { [self] in
      server.connection.send(RedisCommand("ASKING")) { _ in }
      // A call by digest that fails would use up the permission.
      let command = request.script.map { request.command.evaluating($0.source) } ?? request.command
      server.connection.send(command, timeout: request.timeout) { [self] in take($0, of: request, from: server) }
    }
  }

  private func routeLater(_ request: ClusterRequest) {
    delayed.append(request)
    guard delayTimer == nil else { return }
    delayTimer = .after(ClusterRouter.movePause) { [weak self] in
      guard let self else { return }
      delayTimer = nil
      let requests = delayed
      delayed = []
      for request in requests { route(request) }
    }
  }
}

// MARK: - Servers

extension ClusterRouter {
  private var anyServer: ClusterServer? {
    let address = requiredSlots.first.flatMap { topology[$0] }
    if let server = address.flatMap({ servers[$0] }), server.connection.isReady { return server }
    return servers.values.first { $0.connection.isReady }
  }

  private func server(_ address: ClusterTopology.Server) -> ClusterServer {
    if let server = servers[address] { return server }
    let connection = RedisConnection(endpoint: endpoint.server(address), name: name, timeout: timeout, log: log)
    connection.instruments = instruments
    connection.preload(scripts)
    let server = ClusterServer(address, connection: connection)
    servers[address] = server
    connection.onStateChange = { [weak self, weak server] isReady in
      if isReady { server?.hasOpened() } else { self?.refresh() }
      self?.update()
    }
    connection.start()
    return server
  }

  /// Finds out which slots the servers have now.
  private func refresh() {
    guard !isClosed else { return }
    let known = servers.values.filter(\.connection.isReady).map(\.address).shuffled()
    watch.refresh(known: known)
  }

  private func use(_ new: ClusterTopology) {
    guard !isClosed else { return }
    if Set(new.servers) != Set(topology.servers) {
      log.info("servers of the cluster", ["servers": .init(new.servers.map(\.summary).sorted().joined(separator: ","))])
    }
    let slots = new.changes(from: topology)
    let losers = Set(slots.compactMap { topology[$0] }).compactMap { servers[$0] }
    topology = new
    for address in new.servers { _ = server(address) }
    if !slots.isEmpty { changed(slots, from: losers) }
    for (address, server) in servers where !new.servers.contains(address) {
      servers[address] = nil
      reconnectsOfRetired += server.connection.reconnects
      server.retire()
    }
    update()
    if !isReady || !new.servers.allSatisfy({ servers[$0]?.connection.isReady == true }) { refresh() }
  }

  /// Holds the commands of slots that have another server until the old ones have answered.
  private func changed(_ slots: [Int], from losers: [ClusterServer]) {
    changes += 1
    let open = losers.filter(\.connection.isReady)
    if !open.isEmpty {
      for slot in slots where waitingBySlot[slot] == nil { waitingBySlot[slot] = [] }
      EventLoop.gather(open) { server, end in
        server.whenDrained { end(()) }
      } completion: { [self] _ in
        release(slots)
      }
    }
    // What is known of the data of a required slot is no longer certain: a failover may have lost the last writes.
    if isReady, !requiredSlots.isDisjoint(with: slots) { setReady(false) }
    update()
  }

  private func release(_ slots: [Int]) {
    for slot in slots {
      for request in waitingBySlot.removeValue(forKey: slot) ?? [] { route(request) }
    }
  }

  // MARK: Readiness

  private func update() {
    guard !isClosed else { return }
    let needed = requiredSlots.isEmpty ? topology.servers : requiredSlots.compactMap { topology[$0] }
    let count = requiredSlots.isEmpty ? 1 : requiredSlots.count
    setReady(needed.count >= count && needed.allSatisfy { servers[$0]?.connection.isReady == true })
  }

  private func setReady(_ ready: Bool) {
    guard ready != isReady else { return }
    isReady = ready
    if ready { waiters.resume(.success(())) }
    onStateChange?(ready)
  }

  var failure: String? { whyNotReady }

  private var whyNotReady: String {
    if let failure = watch.failure { return failure }
    let missing = requiredSlots.filter { topology[$0] == nil }.sorted()
    if let slot = missing.first { return "no server of the cluster has slot \(slot)" }
    let unreachable = topology.servers.filter { servers[$0]?.connection.isReady != true }
    guard let first = unreachable.first else { return "no answer yet" }
    return servers[first]?.connection.failure.map { "\(first.summary): \($0)" } ?? "\(first.summary) does not answer"
  }
}
