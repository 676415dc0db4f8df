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
    let peers: Peers
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

  /// After this many runs without progress, the next ones are delayed.
  private static let maximumIdleRuns = 64
  /// The same if no request is under way. Then only incomplete TLS handshakes can make the daemon ask for another run.
  private static let maximumIdleRunsWithoutRequest = 2
  private static let slowRunInterval = Duration.milliseconds(20)

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
  private(set) var connections = 0

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
    for exchange in exchanges.values where exchange.awaitsChunks { service.peers.hasten(exchange) }
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
}

/// What libmicrohttpd calls.
extension Daemon {
  func connected(_ connection: OpaquePointer) {
    calls += 1
    connections += 1
    service.peers.open(connection, hasTLS: hasTLS)
  }

  func disconnected(_ connection: OpaquePointer) {
    calls += 1
    connections -= 1
    service.peers.close(connection)
  }

  func begin(_ connection: OpaquePointer, target: String) -> Exchange {
    calls += 1
    let exchange = Exchange(
      connection: connection, peer: service.peers.address(of: connection), target: target,
      configuration: service.configuration
    ) { [weak self] in
      self?.scheduleRun()
    }
    exchange.closesConnection = state != .open
    exchange.hasTLS = hasTLS
    exchanges[ObjectIdentifier(exchange)] = exchange
    service.peers.enter(.receiving, exchange)
    return exchange
  }

  func receive(_ exchange: Exchange, method: UnsafePointer<CChar>, version: UnsafePointer<CChar>) -> Bool {
    calls += 1
    guard exchange.receiveHead(method: method, version: version) else { return false }
    service.peers.receive(exchange)
    return exchange.isHeadEnough ? proceed(exchange) : true
  }

  func receive(_ exchange: Exchange, _ bytes: UnsafeRawBufferPointer) -> Bool {
    calls += 1
    guard exchange.receive(bytes) else { return false }
    service.peers.receive(exchange)
    return true
  }

  func proceed(_ exchange: Exchange) -> Bool {
    calls += 1
    service.peers.enter(.answering, exchange)
    guard state == .finishing else { return exchange.proceed(service.handler) }
    return exchange.proceed { _, reply in reply(HTTPServer.unavailable) }
  }

  func completed(_ exchange: Exchange) {
    calls += 1
    if exchange.leavesBody { service.peers.linger(exchange.connection) }
    service.peers.enter(.waiting, exchange)
    exchange.end()
    exchanges[ObjectIdentifier(exchange)] = nil
  }
}
