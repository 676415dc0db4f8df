import CMicroHTTPD
public import EventLoop
public import Telemetry

#if canImport(Glibc)
  import Glibc
#endif

/// An HTTP/1.1 server on the event loop: libmicrohttpd without threads of its own.
///
/// The library handles keep-alive, pipelining, chunked bodies and `Expect: 100-continue`. It refuses requests that it cannot
/// parse (400, 414, 431); they never reach the handler.
@EventLoop
public final class HTTPServer {
  /// Called with a complete request. The second argument must be called once, now or later, with the answer.
  public typealias Handler = @EventLoop (HTTPRequest, @escaping @EventLoop (HTTPResponse) -> Void) -> Void

  let configuration: HTTPServerConfiguration
  /// How long a request may take to arrive while the server is stopping.
  private static let stoppingPatience = Duration.seconds(3)
  /// After so many runs without progress the next ones are delayed.
  private static let maximumIdleRuns = 64
  private static let slowRunInterval = Duration.milliseconds(20)
  static let unavailable = HTTPResponse.text("stopping\n", status: 503)

  private let log: Log
  let handler: Handler
  private var daemon: OpaquePointer?
  private var source: SocketSource?
  private var tick: LoopTimer?
  private var graceTimer: LoopTimer?
  private var onStopped: [@EventLoop () -> Void] = []
  private(set) var isStopping = false
  /// The grace period is over: requests that arrive completely now are answered 503.
  private(set) var isFinishing = false
  private var isRunScheduled = false
  /// The number of callbacks from the daemon. Whenever it makes progress with a request, it calls one.
  var calls = 0
  /// The number of runs in a row without a callback.
  private var idleRuns = 0
  private(set) var runs = 0
  private var slowRun: LoopTimer?
  var exchanges: [ObjectIdentifier: Exchange] = [:]
  /// The open connections by the address of the daemon's connection.
  var peers: [UInt: Peer] = [:]

  /// The configured limit, or the number that the process has descriptors for.
  private(set) var maximumConnections = 0

  /// The port it listens on; 0 before ``start()`` and for a unix socket.
  public private(set) var port = 0

  /// The number of requests that have begun and are not completely answered.
  public var requestsUnderWay: Int { exchanges.count }

  public init(configuration: HTTPServerConfiguration, log: Log, handler: @escaping Handler) {
    self.configuration = configuration
    self.log = log
    self.handler = handler
  }

  /// Binds and listens.
  public func start() throws(HTTPServerError) {
    precondition(daemon == nil, "started twice")
    DescriptorLimit.raise()
    maximumConnections = DescriptorLimit.room(for: configuration.maximumConnections)
    let socket = try ListeningSocket(configuration.address)
    guard let daemon = startDaemon(listening: socket.descriptor) else {
      Glibc.close(socket.descriptor)
      throw .cannotStart(reason: String(cString: strerror(errno)))
    }
    source = SocketSource(
      descriptor: martlet_epoll_descriptor(daemon), onReadable: { [weak self] in self?.run() }, onWritable: {})
    guard let source else {
      MHD_stop_daemon(daemon)
      throw .cannotStart(reason: "out of descriptors")
    }
    self.daemon = daemon
    port = socket.port
    source.watchReading(true)
    tick = .every(.seconds(1)) { [weak self] in self?.expire() }
    log.debug("http server listens", ["address": .init("\(configuration.address)"), "port": .init(port)])
  }

  /// Stops listening, lets running requests finish, then closes all connections and calls `completion`.
  ///
  /// Requests that are not answered within `grace` are answered 503.
  public func stop(grace: Duration = .seconds(5), completion: @escaping @EventLoop () -> Void = {}) {
    guard let daemon else { return completion() }
    onStopped.append(completion)
    guard !isStopping else { return }
    isStopping = true
    let listening = MHD_quiesce_daemon(daemon)
    if listening >= 0 { Glibc.close(listening) }
    for exchange in exchanges.values { exchange.closesConnection = true }
    hastenPeers()
    graceTimer = .after(grace) { [weak self] in self?.finish() }
    scheduleRun()
  }

  /// Stops listening, lets running requests finish within `grace`, and returns when all connections are closed.
  public func stop(grace: Duration = .seconds(5)) async {
    await withCheckedContinuation { continuation in
      stop(grace: grace) { continuation.resume() }
    }
  }

  /// Lets the daemon work, and runs it again at the end of the turn while it has more to do.
  private func run() {
    guard let daemon else { return }
    let before = calls
    runs += 1
    MHD_run(daemon)
    idleRuns = calls == before ? idleRuns + 1 : 0
    var milliseconds: UInt64 = 0
    if MHD_get_timeout(daemon, &milliseconds) == .YES, milliseconds == 0 {
      if idleRuns < HTTPServer.maximumIdleRuns { scheduleRun() } else { scheduleSlowRun() }
    }
    if isStopping, exchanges.isEmpty { finish() }
  }

  /// Delays the next run. While the size line of a chunk fills the memory of a connection, the daemon asks to be run again at
  /// once, without end. It does not report which connection it is, so all requests with chunks get a short deadline.
  private func scheduleSlowRun() {
    for exchange in exchanges.values where exchange.awaitsChunks { hasten(UInt(bitPattern: exchange.connection)) }
    slowRun = .after(HTTPServer.slowRunInterval) { [weak self] in self?.run() }
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
  private func expire() {
    let now = Clock.monotonicNanoseconds
    for peer in peers.values where peer.deadline < now { shutdown(peer.descriptor, Int32(SHUT_RDWR)) }
    makeRoom()
    run()
  }

  /// Closes connections that wait for a request if the server is nearly full.
  private func makeRoom() {
    let excess = peers.count - (maximumConnections - maximumConnections / 10)
    guard excess > 0 else { return }
    for peer in Peer.dispensable(of: peers.values).prefix(excess) { shutdown(peer.descriptor, Int32(SHUT_RDWR)) }
  }

  /// Shortens the deadlines of all requests that have not arrived completely.
  private func hastenPeers() {
    for key in peers.keys { hasten(key) }
  }

  private func hasten(_ key: UInt) {
    let latest = Clock.monotonicNanoseconds + UInt64(HTTPServer.stoppingPatience.nanoseconds)
    guard let deadline = peers[key]?.deadline, deadline != .max, deadline > latest else { return }
    peers[key]?.deadline = latest
  }

  private func finish() {
    guard let daemon else { return }
    isFinishing = true
    answerAll()
    MHD_run(daemon)
    close(daemon)
  }

  /// Answers every request, because the daemon must not be stopped while one is suspended.
  private func answerAll() {
    for exchange in exchanges.values { exchange.answer(HTTPServer.unavailable) }
  }

  private func close(_ daemon: OpaquePointer) {
    self.daemon = nil
    tick = nil
    slowRun = nil
    graceTimer = nil
    source?.cancel()
    source = nil
    MHD_stop_daemon(daemon)
    if case .unix(let path) = configuration.address { unlink(path) }
    let completions = onStopped
    onStopped = []
    for completion in completions { completion() }
  }

  isolated deinit {
    guard let daemon else { return }
    answerAll()
    close(daemon)
  }
}
