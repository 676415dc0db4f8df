import EventLoop
import HTTPServer
import JSON
import Telemetry

#if canImport(Glibc)
  import Glibc
#endif

/// The simulated APNs: listens, and keeps the state that all connections share.
@EventLoop
final class Gateway {
  /// Connections whose TLS handshake is not finished, at most. Beyond it, that which waits longest is closed.
  static let maximumHandshakes = 512

  let tls: TLSContext
  var settings: GatewaySettings
  var rules = PushRules()
  var devices = Devices()
  var liveDevices = LiveDevices()
  var channels = Channels()
  private(set) lazy var reporter = TokenReporter(gateway: self, log: log)
  var verifier: ProviderTokenVerifier
  private(set) var faults = FaultPlan()
  var ledger: Ledger
  var journal: Journal?
  private(set) var connectionsAccepted = 0
  private(set) var effects: [String: Int] = [:]
  private let log: Log
  private var listeners: [Listener] = []
  private var connections: [ObjectIdentifier: Connection] = [:]
  /// Those of `connections` whose TLS handshake is not finished, the oldest first.
  private var handshakes: [Connection] = []
  /// Connections that a fault leaves without service.
  private var stalled: [(descriptor: Int32, port: RequestTarget.Port)] = []

  init(tls: TLSContext, verifier: ProviderTokenVerifier, settings: GatewaySettings, ledger: Ledger, log: Log) {
    self.tls = tls
    self.verifier = verifier
    self.settings = settings
    self.ledger = ledger
    self.log = log
  }

  var openConnections: Int { connections.count + stalled.count }

  /// Listens for the requests of a port. Returns its number.
  func start(_ address: HTTPAddress, _ port: RequestTarget.Port) throws(HTTPServerError) -> Int {
    let listener = try Listener(address, log: log) { [unowned self] descriptor in
      connectionsAccepted += 1
      if faults.stallsAccept { stalled.append((descriptor, port)) } else { serve(descriptor, port) }
    }
    listeners.append(listener)
    return listener.port
  }

  func remove(_ connection: Connection) {
    connections[ObjectIdentifier(connection)] = nil
    handshakeEnded(connection)
  }

  func handshakeEnded(_ connection: Connection) {
    if let index = handshakes.firstIndex(where: { $0 === connection }) { handshakes.remove(at: index) }
  }

  /// Applies a change of ``settings`` to all connections.
  func announceSettings() {
    for connection in connections.values { connection.updateMaximumStreams() }
  }

  /// Closes all connections but keeps listening.
  func closeConnections() {
    for connection in connections.values { connection.close() }
  }

  func changeFaults(_ change: (inout FaultPlan) -> Void) {
    change(&faults)
    if !faults.stallsAccept { serveStalled() }
  }

  /// Counts the next request and returns the fault that applies to it.
  func takeEffect(on head: RequestHead, _ target: RequestTarget, connection: Int) -> FaultEffect {
    guard !faults.isEmpty else { return .none }
    let effect = faults.take(topic: head[.topic], on: target.kind, connection: connection)
    if let name = effect.name { effects[name, default: 0] += 1 }
    return effect
  }

  func resetCounts() {
    ledger.removeAll()
    verifier.forgetUpdates()
    effects = [:]
    connectionsAccepted = 0
  }

  private func serve(_ descriptor: Int32, _ port: RequestTarget.Port) {
    var yes: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    faults.newestConnection += 1
    guard let connection = Connection(descriptor: descriptor, port: port, gateway: self) else {
      return log.warn("file descriptors or memory are exhausted; a connection was closed")
    }
    if handshakes.count == Gateway.maximumHandshakes { handshakes[0].close() }
    connections[ObjectIdentifier(connection)] = connection
    handshakes.append(connection)
  }

  private func serveStalled() {
    let waiting = stalled
    stalled = []
    for (descriptor, port) in waiting { serve(descriptor, port) }
  }
}

extension Gateway {
  /// Returns the answer to a complete request at `now`, in unix nanoseconds. One that is accepted has to be performed.
  func answer(
    to stream: PushStream, _ target: RequestTarget, provider: inout ConnectionProvider, now: UInt64
  ) -> Answer {
    guard target == .push else { return refusal(of: target, stream.head, provider: &provider, now: now) ?? .accepted }
    if let refusal = refusal(ofHead: stream.head, provider: &provider, now: now) { return refusal }
    let rules = provider.rules ?? rules
    let isObject = stream.bodyCount > PushStream.keptBody || isJSONObject(stream.body)
    return rules.refusal(ofBody: stream.bodyCount, isObject: isObject, head: stream.head)
      ?? rules.refusal(ofContent: stream.body, head: stream.head)
      ?? devices.refusal(of: stream.head, in: settings.environment) ?? .accepted
  }

  /// Returns an `apns-unique-id`, which Apple sends only in the sandbox; empty elsewhere.
  func newUniqueID() -> [UInt8] {
    settings.environment == .sandbox ? Array(PushID.random().text.utf8) : []
  }

  /// Returns the refusal of a head; nil if it is valid. Checks in Apple's order: path and method, provider token,
  /// fields.
  func refusal(ofHead head: RequestHead, provider: inout ConnectionProvider, now: UInt64) -> Answer? {
    if settings.isLikeApple, head.listSize > GatewaySettings.maximumHeaderList { return Answer(431) }
    if let refusal = rules.refusalOfTarget(head)
      ?? refusalOfProvider(head, &provider, now: Int64(now / 1_000_000_000))
    {
      return refusal
    }
    // Apple ties a connection to the bundle ids that the team has at the first push.
    if settings.isLikeApple, provider.rules == nil { provider.rules = rules }
    return (provider.rules ?? rules).refusalOfFields(head) ?? refusalOfTeam(head, provider)
  }

  /// Refuses the topics of another team than that of the connection's provider token, and those that its key is not for.
  ///
  /// Which reason Apple gives for a topic-specific key is not documented.
  private func refusalOfTeam(_ head: RequestHead, _ provider: ConnectionProvider) -> Answer? {
    allows(head[.topic], head.bundleID, provider) ? nil : Answer(400, "TopicDisallowed")
  }

  /// Returns whether the connection's provider token is for a topic and its app.
  func allows(
    _ topic: ArraySlice<UInt8>?, _ bundleID: @autoclosure () -> String, _ provider: ConnectionProvider
  ) -> Bool {
    guard settings.checksAuthorization else { return true }
    return verifier.others.allows(topic, team: verifier.team(of: provider.keyID))
      && verifier.others.mayKey(provider.keyID, sendTo: bundleID())
  }

  func refusalOfProvider(_ head: RequestHead, _ provider: inout ConnectionProvider, now: Int64) -> Answer? {
    guard settings.checksAuthorization else { return nil }
    return provider.check(
      head[.authorization], with: &verifier, environment: settings.environment,
      updateSeconds: settings.tokenUpdateSeconds, isLikeApple: settings.isLikeApple, now: now
    ).refusal
  }
}

extension Gateway {
  /// Registers the totals.
  func register(in metrics: Metrics) {
    metrics.gauge("apns_simulator_pushes", labels: ["status"], help: "Pushes processed, by status") { [unowned self] in
      [(["200"], Double(ledger.accepted))] + ledger.byStatus.map { ([String($0.key)], Double($0.value)) }
    }
    metrics.gauge("apns_simulator_duplicates", help: "Pushes accepted again") { [unowned self] in
      Double(ledger.duplicates)
    }
    metrics.gauge("apns_simulator_connections", help: "Open connections") { [unowned self] in
      Double(openConnections)
    }
  }
}

/// Settings that can be changed while the gateway runs.
struct GatewaySettings: Sendable {
  /// The one whose tokens are accepted, and whose keys; nil for both.
  var environment: GatewayEnvironment?
  /// SETTINGS_MAX_CONCURRENT_STREAMS once a connection has shown a valid provider token.
  var maximumStreams = 1000
  /// SETTINGS_MAX_CONCURRENT_STREAMS before that.
  var initialStreams = 1
  /// Added to every answer.
  var addedNanoseconds: UInt64 = 0
  var checksAuthorization = true
  /// Minimum seconds between two new provider tokens of the key; 0 for no limit.
  var tokenUpdateSeconds: Int64 = 0
  /// Whether connections behave as is recorded of Apple's (docs/testing.md).
  var isLikeApple = false
  /// SETTINGS_MAX_HEADER_LIST_SIZE.
  static let maximumHeaderList = 8000
  /// A connection whose TLS handshake takes longer is closed.
  var handshakeTime = Duration.seconds(60)
}

/// Returns whether the text is one JSON object and nothing else.
func isJSONObject(_ text: [UInt8]) -> Bool {
  var reader = JSONReader(text)
  do {
    guard try reader.peek() == .object else { return false }
    try reader.skipValue()
    try reader.end()
    return true
  } catch {
    return false
  }
}

// Live Activities, channels and broadcasts.
extension Gateway {
  /// Returns the refusal of a request about channels: path, provider token, fields. Nil if it is valid so far.
  func refusal(
    of target: RequestTarget, _ head: RequestHead, provider: inout ConnectionProvider, now: UInt64
  ) -> Answer? {
    if let refusal = rules.refusal(of: target, head) { return refusal }
    if let refusal = refusalOfProvider(head, &provider, now: Int64(now / 1_000_000_000)) { return refusal }
    let bundleID = target.bundleID ?? ""
    if let refusal = rules.refusal(ofApp: bundleID, head) { return refusal }
    return allows(Array(bundleID.utf8)[...], bundleID, provider) ? nil : Answer(403, "TopicMismatch")
  }

  /// Does what a request asks for that has not been refused, and returns its answer.
  func perform(_ target: RequestTarget, _ stream: PushStream, id: PushID, now: UInt64) -> Answer {
    let head = stream.head
    let now = Int64(now / 1_000_000)
    switch target {
    case .push:
      guard !liveDevices.isEmpty else { return .accepted }
      let (answer, reports) = liveDevices.receive(head, body: stream.body, id: id, now: now)
      reporter.schedule(reports)
      return answer
    case .broadcast(let bundleID):
      return broadcast(stream, to: bundleID, id: id, now: now)
    case .channel(let bundleID):
      switch head.text(head[.method]) {
      case "POST": return channels.create(stream.body, for: bundleID)
      case "DELETE":
        let answer = channels.delete(head[.channelID], of: bundleID)
        if let id = answer.channelID { liveDevices.removeChannel(id) }
        return answer
      default: return channels.read(head[.channelID], of: bundleID)
      }
    case .allChannels(let bundleID): return channels.list(of: bundleID)
    case .unknown: return Answer(404, "BadPath")
    }
  }

  private func broadcast(_ stream: PushStream, to bundleID: String, id: PushID, now: Int64) -> Answer {
    switch channels.find(stream.head[.channelID], of: bundleID) {
    case .failure(let refusal): return refusal.answer
    case .success(let (channelID, channel)):
      if let refusal = rules.refusal(ofBroadcast: stream.head, stream.body, to: channel) { return refusal }
      guard let push = LivePush(stream.head, body: stream.body, id: id) else { return Answer(400, "BadRequestPayload") }
      channels.countBroadcast(on: channelID, of: bundleID)
      liveDevices.broadcast(push, on: channelID, keepsNewest: channel.keepsNewest, now: now)
      return Answer(200, channelID: channelID)
    }
  }
}
