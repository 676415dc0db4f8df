import CMicroHTTPD
import Crypto
import EventLoop

#if canImport(Glibc)
  import Glibc
#endif

/// A daemon of libmicrohttpd on the event loop, and its connections.
@EventLoop
final class Daemon {
  /// What daemons that follow one another on one address share.
  struct Service {
    let configuration: HTTPServerConfiguration
    let maximumConnections: Int
    let handler: HTTPServer.Handler
    /// Returns whether there is room for one more connection, of all daemons.
    let admits: @EventLoop () -> Bool
    /// Called after each run.
    let onRun: @EventLoop (Daemon) -> Void
  }

  private enum State {
    case open
    /// It does not listen any more, and closes each connection after its answer.
    case closing
    /// As ``closing``. Requests that arrive completely now are answered 503.
    case finishing
  }

  /// After so many runs without progress the next ones are delayed.
  private static let maximumIdleRuns = 64
  /// The same if no request is under way. Then only incomplete TLS handshakes can make the daemon ask for another run.
  private static let maximumIdleRunsWithoutRequest = 2
  private static let slowRunInterval = Duration.milliseconds(20)
  /// How long a request may take to arrive while the server is stopping.
  private static let stoppingPatience = Duration.seconds(3)
  /// How long the first request of a connection with TLS may take to begin. Seconds.
  private static let handshakePatience = 10

  let service: Service
  private var daemon: OpaquePointer?
  private var source: SocketSource?
  private var hasTLS = false
  private var state = State.open
  private var isRunScheduled = false
  /// The number of callbacks from the daemon. Whenever it makes progress with a request, it calls one.
  private var calls = 0
  /// The number of runs in a row without a callback.
  private var idleRuns = 0
  private(set) var runs = 0
  private var slowRun: LoopTimer?
  private(set) var exchanges: [ObjectIdentifier: Exchange] = [:]
  /// The open connections by the address of the daemon's connection.
  private(set) var peers: [UInt: Peer] = [:]

  init(_ service: Service) {
    self.service = service
  }

  /// Takes connections from `listening`, which the caller keeps. Speaks TLS if there is a certificate. Returns false if
  /// libmicrohttpd or GnuTLS refuses the options, or if descriptors are exhausted. Must be called once.
  func start(listening: Int32, certificate: ServerCertificate?) -> Bool {
    hasTLS = certificate != nil
    guard let daemon = startDaemon(listening: listening, certificate: certificate) else { return false }
    source = SocketSource(
      descriptor: martlet_epoll_descriptor(daemon), onReadable: { [weak self] in self?.run() }, onWritable: {})
    guard let source else {
      MHD_stop_daemon(daemon)
      return false
    }
    self.daemon = daemon
    source.watchReading(true)
    return true
  }

  /// Stops listening, and closes each connection after the answer that is due on it. Connections that wait for a request stay.
  func close() {
    guard let daemon, state == .open else { return }
    state = .closing
    let listening = MHD_quiesce_daemon(daemon)
    if listening >= 0 { Glibc.close(listening) }
    for exchange in exchanges.values { exchange.closesConnection = true }
  }

  /// Answers every request and closes all connections. The daemon must not be stopped while a request is suspended.
  func finish() {
    close()
    guard let daemon, state == .closing else { return }
    state = .finishing
    answerAll()
    MHD_run(daemon)
    stop()
  }

  /// As ``finish()``, without a last run.
  func stop() {
    guard let daemon else { return }
    answerAll()
    self.daemon = nil
    slowRun = nil
    source?.cancel()
    source = nil
    MHD_stop_daemon(daemon)
  }

  private func answerAll() {
    for exchange in exchanges.values { exchange.answer(HTTPServer.unavailable) }
  }

  /// Lets the daemon work, and runs it again at the end of the turn while it has more to do.
  func run() {
    guard let daemon else { return }
    let before = calls
    runs += 1
    MHD_run(daemon)
    idleRuns = calls == before ? idleRuns + 1 : 0
    var milliseconds: UInt64 = 0
    if MHD_get_timeout(daemon, &milliseconds) == .YES, milliseconds == 0 {
      let limit = hasTLS && exchanges.isEmpty ? Daemon.maximumIdleRunsWithoutRequest : Daemon.maximumIdleRuns
      if idleRuns < limit { scheduleRun() } else { scheduleSlowRun() }
    }
    service.onRun(self)
  }

  /// Delays the next run. The daemon asks to be run again at once, without end, while the size line of a chunk fills the memory
  /// of a connection, and while a TLS handshake has begun and not ended. It does not report which connection it is, so all
  /// requests with chunks get a short deadline.
  private func scheduleSlowRun() {
    for exchange in exchanges.values where exchange.awaitsChunks { hasten(UInt(bitPattern: exchange.connection)) }
    slowRun = .after(Daemon.slowRunInterval) { [weak self] in self?.run() }
  }

  func scheduleRun() {
    guard !isRunScheduled else { return }
    isRunScheduled = true
    EventLoop.atEndOfTurn {
      self.isRunScheduled = false
      self.run()
    }
  }

  /// Closes connections whose request takes too long, even if a byte arrives now and then.
  func expirePeers(at now: UInt64) {
    for peer in peers.values where peer.deadline < now { peer.disconnect() }
  }

  /// Shortens the deadlines of all requests that have not arrived completely.
  func hastenPeers() {
    for key in peers.keys { hasten(key) }
  }

  private func hasten(_ key: UInt) {
    let latest = Clock.monotonicNanoseconds + UInt64(Daemon.stoppingPatience.nanoseconds)
    guard let deadline = peers[key]?.deadline, deadline != .max, deadline > latest else { return }
    peers[key]?.deadline = latest
  }

  private func deadline(within seconds: Int) -> UInt64 {
    Clock.monotonicNanoseconds + UInt64(seconds) * 1_000_000_000
  }
}

/// What libmicrohttpd calls.
extension Daemon {
  func connected(_ connection: OpaquePointer) {
    calls += 1
    let patience = service.configuration.connectionTimeout
    peers[UInt(bitPattern: connection)] = Peer(
      descriptor: martlet_connection_descriptor(connection),
      address: Peer.text(of: martlet_connection_address(connection)),
      deadline: deadline(within: hasTLS ? min(patience, Daemon.handshakePatience) : patience))
  }

  func disconnected(_ connection: OpaquePointer) {
    calls += 1
    peers[UInt(bitPattern: connection)] = nil
  }

  func begin(_ connection: OpaquePointer, target: String) -> Exchange {
    calls += 1
    peers[UInt(bitPattern: connection)]?.deadline = deadline(within: service.configuration.connectionTimeout)
    let exchange = Exchange(
      connection: connection, peerAddress: peers[UInt(bitPattern: connection)]?.address ?? HTTPRequest.unixPeer,
      target: target, configuration: service.configuration
    ) { [weak self] in
      self?.scheduleRun()
    }
    exchange.closesConnection = state != .open
    exchange.hasTLS = hasTLS
    exchanges[ObjectIdentifier(exchange)] = exchange
    return exchange
  }

  func receive(_ exchange: Exchange, method: UnsafePointer<CChar>, version: UnsafePointer<CChar>) -> Bool {
    calls += 1
    return exchange.receiveHead(method: method, version: version)
  }

  func receive(_ exchange: Exchange, _ bytes: UnsafeRawBufferPointer) -> Bool {
    calls += 1
    return exchange.receive(bytes)
  }

  func proceed(_ exchange: Exchange, _ connection: OpaquePointer) -> Bool {
    calls += 1
    peers[UInt(bitPattern: connection)]?.deadline = .max
    guard state == .finishing else { return exchange.proceed(service.handler) }
    return exchange.proceed { _, reply in reply(HTTPServer.unavailable) }
  }

  func completed(_ exchange: Exchange, _ connection: OpaquePointer) {
    calls += 1
    peers[UInt(bitPattern: connection)]?.deadline = deadline(within: service.configuration.connectionTimeout)
    exchange.end()
    exchanges[ObjectIdentifier(exchange)] = nil
  }
}
