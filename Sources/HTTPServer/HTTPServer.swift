import CMicroHTTPD
public import EventLoop
public import Telemetry

#if canImport(Glibc)
  import Glibc
#endif

/// An HTTP/1.1 server on the event loop: libmicrohttpd without threads of its own.
///
/// Keep-alive, pipelining, chunked bodies and `Expect: 100-continue` are the library's. What is malformed beyond
/// reading is refused by it (400, 414, 431) and never reaches the handler.
@EventLoop
public final class HTTPServer {
  /// Called with a whole request; the second argument takes the answer, now or later, once.
  public typealias Handler = @EventLoop (HTTPRequest, @escaping @EventLoop (HTTPResponse) -> Void) -> Void

  let configuration: HTTPServerConfiguration
  /// How long a stop waits for requests to arrive whole.
  private static let stoppingPatience = Duration.seconds(3)
  static let unavailable = HTTPResponse.text("stopping\n", status: 503)

  private let log: Log
  let handler: Handler
  private var daemon: OpaquePointer?
  private var source: SocketSource?
  private var tick: LoopTimer?
  private var graceTimer: LoopTimer?
  private var onStopped: [@EventLoop () -> Void] = []
  private(set) var isStopping = false
  /// The grace is over: what is complete now is answered 503.
  private(set) var isFinishing = false
  private var isRunScheduled = false
  var exchanges: [ObjectIdentifier: Exchange] = [:]
  /// By the address of the daemon's connection.
  var peers: [UInt: Peer] = [:]

  /// What is configured, or what the process has descriptors for.
  private(set) var maximumConnections = 0

  /// The port it listens on; 0 before ``start()`` and for a unix socket.
  public private(set) var port = 0

  /// Requests that have begun and are not yet answered to their end.
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

  /// Takes no more connections, lets running requests finish, then closes everything and calls `completion`.
  ///
  /// What is not answered after `grace` is answered 503.
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

  /// As ``stop(grace:completion:)``.
  public func stop(grace: Duration = .seconds(5)) async {
    await withCheckedContinuation { continuation in
      stop(grace: grace) { continuation.resume() }
    }
  }

  /// Lets the daemon do what is ready; again at the end of the turn while it has more.
  private func run() {
    guard let daemon else { return }
    MHD_run(daemon)
    var milliseconds: UInt64 = 0
    if MHD_get_timeout(daemon, &milliseconds) == .YES, milliseconds == 0 { scheduleRun() }
    if isStopping, exchanges.isEmpty { finish() }
  }

  func scheduleRun() {
    guard !isRunScheduled else { return }
    isRunScheduled = true
    EventLoop.atEndOfTurn {
      self.isRunScheduled = false
      self.run()
    }
  }

  /// Cuts off who takes too long for one request: a byte now and then does not keep a connection.
  private func expire() {
    let now = Clock.monotonicNanoseconds
    for peer in peers.values where peer.deadline < now { shutdown(peer.descriptor, Int32(SHUT_RDWR)) }
    makeRoom()
    run()
  }

  /// A house nearly full takes new guests: who has been idle or unfinished for the longest leaves.
  private func makeRoom() {
    let excess = peers.count - (maximumConnections - maximumConnections / 10)
    guard excess > 0 else { return }
    let waiting = peers.values.filter { $0.deadline != .max }.sorted { $0.deadline < $1.deadline }
    for peer in waiting.prefix(excess) { shutdown(peer.descriptor, Int32(SHUT_RDWR)) }
  }

  /// Who has not sent the whole request by now does not hold up the end for long.
  private func hastenPeers() {
    let latest = Clock.monotonicNanoseconds + UInt64(HTTPServer.stoppingPatience.nanoseconds)
    for (key, peer) in peers where peer.deadline != .max && peer.deadline > latest { peers[key]?.deadline = latest }
  }

  private func finish() {
    guard let daemon else { return }
    isFinishing = true
    answerAll()
    MHD_run(daemon)
    close(daemon)
  }

  /// The daemon must not be stopped while a request is suspended.
  private func answerAll() {
    for exchange in exchanges.values { exchange.answer(HTTPServer.unavailable) }
  }

  private func close(_ daemon: OpaquePointer) {
    self.daemon = nil
    tick = nil
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
