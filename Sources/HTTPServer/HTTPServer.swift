public import Crypto
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

  static let unavailable = HTTPResponse.text("stopping\n", status: 503)

  private let configuration: HTTPServerConfiguration
  private let log: Log
  private let handler: Handler
  private var listening: ListeningSocket?
  /// The one that listens.
  private var daemon: Daemon?
  private let peers: Peers
  /// Those of earlier certificates, until their connections have ended.
  private var earlier: [Daemon] = []
  private var tick: LoopTimer?
  private var graceTimers: [LoopTimer] = []
  private var onStopped: [@EventLoop () -> Void] = []
  private var isStopping = false

  /// The configured limit, or the number that the process has descriptors for.
  private(set) var maximumConnections = 0

  /// The port it listens on; 0 before ``start()`` and for a unix socket.
  public private(set) var port = 0

  /// The number of requests that have begun and are not completely answered.
  public var requestsUnderWay: Int { daemons.reduce(0) { $0 + $1.exchanges.count } }

  var connections: Int { peers.count }
  var runs: Int { daemons.reduce(0) { $0 + $1.runs } }
  var daemonCount: Int { daemons.count }
  private var daemons: [Daemon] { earlier + (daemon.map { [$0] } ?? []) }

  public init(configuration: HTTPServerConfiguration, log: Log, handler: @escaping Handler) {
    self.configuration = configuration
    self.log = log
    self.handler = handler
    peers = Peers(configuration)
  }

  /// Binds and listens.
  public func start() throws(HTTPServerError) {
    precondition(listening == nil, "started twice")
    DescriptorLimit.raise()
    maximumConnections = DescriptorLimit.room(for: configuration.maximumConnections)
    let socket = try ListeningSocket(configuration.address)
    do throws(HTTPServerError) {
      daemon = try startDaemon(socket, configuration.certificate)
    } catch {
      Glibc.close(socket.descriptor)
      throw error
    }
    listening = socket
    port = socket.port
    tick = .every(.seconds(1)) { [weak self] in self?.expire() }
    log.debug("http server listens", ["address": .init("\(configuration.address)"), "port": .init(port)])
  }

  /// Uses another certificate for all connections that are accepted from now on. Only a running server that has TLS may be
  /// given one; otherwise nothing changes. If this throws, the certificate in use stays.
  ///
  /// Connections of the earlier certificate end with the answer that is due on them, or when they have waited too long for a
  /// request.
  public func replaceCertificate(with certificate: ServerCertificate) throws(HTTPServerError) {
    guard let listening, let daemon, !isStopping, configuration.certificate != nil else { return }
    let next = try startDaemon(listening, certificate)
    self.daemon = next
    earlier.append(daemon)
    daemon.close()
    daemon.scheduleRun()
  }

  private func startDaemon(
    _ socket: ListeningSocket, _ certificate: ServerCertificate?
  ) throws(HTTPServerError) -> Daemon {
    let daemon = Daemon(
      Daemon.Service(
        configuration: configuration, maximumConnections: maximumConnections, handler: handler, peers: peers,
        admits: { [weak self] in self.map { $0.connections < $0.maximumConnections } ?? false },
        onRun: { [weak self] in self?.didRun($0) }))
    guard daemon.start(listening: socket.descriptor, certificate: certificate) else {
      let reason = String(cString: strerror(errno))
      throw .cannotStart(reason: certificate == nil ? reason : HTTPServer.reasonWithTLS(reason))
    }
    return daemon
  }

  /// GnuTLS does not report why it refuses a certificate, and what `errno` says may be of something else.
  private static func reasonWithTLS(_ reason: String) -> String {
    "GnuTLS does not accept the certificate or its key, or descriptors are exhausted (\(reason)); "
      + "the key must be RSA, EC (P-256, P-384, P-521) or Ed25519"
  }

  /// Stops listening, lets running requests finish, then closes all connections and calls `completion`.
  ///
  /// Requests that are not answered within `grace` are answered 503. Of several calls, the one whose grace time ends first counts.
  public func stop(grace: Duration = .seconds(5), completion: @escaping @EventLoop () -> Void = {}) {
    guard listening != nil else { return completion() }
    onStopped.append(completion)
    graceTimers.append(.after(grace) { [weak self] in self?.finish() })
    guard !isStopping else { return }
    isStopping = true
    closeSocket()
    peers.hasten()
    for daemon in daemons {
      daemon.close()
      daemon.scheduleRun()
    }
  }

  /// Stops listening, lets running requests finish within `grace`, and returns when all connections are closed.
  public func stop(grace: Duration = .seconds(5)) async {
    await withCheckedContinuation { continuation in
      stop(grace: grace) { continuation.resume() }
    }
  }

  private func didRun(_ daemon: Daemon) {
    if isStopping {
      if requestsUnderWay == 0 { finish() }
    } else if daemon !== self.daemon, daemon.connections == 0 {
      daemon.stop()
      earlier.removeAll { $0 === daemon }
    }
  }

  private func expire() {
    peers.expire(over: maximumConnections - maximumConnections / 10)
    for daemon in daemons { daemon.run() }
  }

  private func finish() {
    guard listening != nil else { return }
    listening = nil
    tick = nil
    graceTimers = []
    for daemon in daemons { daemon.finish() }
    daemon = nil
    earlier = []
    removeSocketFile()
    let completions = onStopped
    onStopped = []
    for completion in completions { completion() }
  }

  private func closeSocket() {
    if let listening { Glibc.close(listening.descriptor) }
  }

  private func removeSocketFile() {
    if case .unix(let path) = configuration.address { unlink(path) }
  }

  isolated deinit {
    guard listening != nil else { return }
    if !isStopping { closeSocket() }
    for daemon in daemons { daemon.stop() }
    removeSocketFile()
    for completion in onStopped { completion() }
  }
}
