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

  /// The daemon has an error to report. It does not say of which connection.
  func report() {
    calls += 1
    for exchange in exchanges.values { exchange.refuseUnparsedHead() }
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

#if canImport(Glibc)
  import Glibc
#endif

/// The options of libmicrohttpd, and its callbacks.
extension Daemon {
  /// The memory of a connection as a multiple of the largest head. It holds the head, about 64 bytes for each field, and the
  /// head of the answer.
  private static let headMultiple = 2
  /// TLS 1.2 and 1.3 with forward secrecy and authenticated encryption only, without SHA-1. In the language of GnuTLS.
  private static let priorities =
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-DHE-RSA:-CIPHER-ALL:+AES-128-GCM:+CHACHA20-POLY1305:+AES-256-GCM"
    + ":-MAC-ALL:+AEAD:-SIGN-RSA-SHA1:-SIGN-ECDSA-SHA1"

  func startDaemon(listening: Int32, certificate: ServerCertificate?) -> OpaquePointer? {
    // libmicrohttpd closes the socket after some failures and not after others, so it gets one of its own.
    let descriptor = fcntl(listening, F_DUPFD_CLOEXEC, 0)
    guard descriptor >= 0 else { return nil }
    // The `Daemon` outlives what it starts: `stop` ends that.
    let context = Unmanaged.passUnretained(self).toOpaque()
    let options = [
      option(.EXTERNAL_LOGGER, Int(bitPattern: unsafeBitCast(onReport, to: UInt.self)), context),
      option(.LISTEN_SOCKET, Int(descriptor)),
      option(.CONNECTION_LIMIT, service.maximumConnections),
      option(.CONNECTION_TIMEOUT, service.configuration.connectionTimeout),
      option(.CONNECTION_MEMORY_LIMIT, Daemon.headMultiple * service.configuration.maximumHeaderBytes),
      option(.URI_LOG_CALLBACK, Int(bitPattern: unsafeBitCast(onTarget, to: UInt.self)), context),
      option(.NOTIFY_COMPLETED, Int(bitPattern: unsafeBitCast(onCompleted, to: UInt.self)), context),
      option(.NOTIFY_CONNECTION, Int(bitPattern: unsafeBitCast(onConnection, to: UInt.self)), context),
    ]
    let flags = MHD_USE_EPOLL.rawValue | MHD_ALLOW_SUSPEND_RESUME.rawValue | MHD_USE_ERROR_LOG.rawValue
    let daemon = start(flags, options, certificate, context)
    if daemon == nil, isSame(descriptor, listening) { Glibc.close(descriptor) }
    return daemon
  }

  /// libmicrohttpd reads the texts of the certificate only while it starts.
  private func start(
    _ flags: UInt32, _ options: [MHD_OptionItem], _ certificate: ServerCertificate?, _ context: UnsafeMutableRawPointer
  ) -> OpaquePointer? {
    guard let certificate else {
      var all = options + [option(.END, 0)]
      return martlet_start_daemon(flags, onAccept, onAccess, context, &all)
    }
    return certificate.chain.withCString { chain in
      certificate.key.withCString { key in
        Daemon.priorities.withCString { priorities in
          var all =
            options + [
              option(.HTTPS_MEM_CERT, 0, UnsafeMutableRawPointer(mutating: chain)),
              option(.HTTPS_MEM_KEY, 0, UnsafeMutableRawPointer(mutating: key)),
              option(.HTTPS_PRIORITIES, 0, UnsafeMutableRawPointer(mutating: priorities)), option(.END, 0),
            ]
          return martlet_start_daemon(flags | MHD_USE_TLS.rawValue, onAccept, onAccess, context, &all)
        }
      }
    }
  }

  private func option(
    _ option: MHD_OPTION, _ value: Int, _ pointer: UnsafeMutableRawPointer? = nil
  ) -> MHD_OptionItem {
    MHD_OptionItem(option: option, value: value, ptr_value: pointer)
  }

  /// Whether both descriptors are open and of one socket.
  private func isSame(_ one: Int32, _ other: Int32) -> Bool {
    var (first, second) = (stat(), stat())
    return fstat(one, &first) == 0 && fstat(other, &second) == 0 && first.st_ino == second.st_ino
      && first.st_dev == second.st_dev
  }
}

// The daemon calls these from `MHD_run` and `MHD_stop_daemon`, that is on the event loop. Their context is the `Daemon`.
// The state of a request is its exchange, which the `Daemon` owns.

private let onAccept: MHD_AcceptPolicyCallback = { context, _, _ in
  guard let context else { return .NO }
  nonisolated(unsafe) let owner = context
  return EventLoop.assumeIsolated {
    Unmanaged<Daemon>.fromOpaque(owner).takeUnretainedValue().service.admits()
  } ? .YES : .NO
}

/// The text and its arguments, a `va_list`, are not read.
private let onReport:
  @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?, UnsafeMutableRawPointer?) -> Void = {
    context, _, _ in
    guard let context else { return }
    nonisolated(unsafe) let owner = context
    EventLoop.assumeIsolated { Unmanaged<Daemon>.fromOpaque(owner).takeUnretainedValue().report() }
  }

private let onConnection:
  @convention(c) (
    UnsafeMutableRawPointer?, OpaquePointer?, UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    MHD_ConnectionNotificationCode
  ) -> Void = { context, connection, _, code in
    guard let context, let connection else { return }
    nonisolated(unsafe) let (owner, peer) = (context, connection)
    EventLoop.assumeIsolated {
      let daemon = Unmanaged<Daemon>.fromOpaque(owner).takeUnretainedValue()
      if code == .CONNECTION_NOTIFY_STARTED { daemon.connected(peer) } else { daemon.disconnected(peer) }
    }
  }

private let onTarget:
  @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?, OpaquePointer?) -> UnsafeMutableRawPointer? = {
    context, target, connection in
    guard let context, let target, let connection else { return nil }
    let text = String(cString: target)
    // The daemon would decode the query, and close the connection without an answer if that takes more memory than it has.
    // A zero after the question mark ends the query for the daemon.
    if let mark = strchr(target, Int32(UInt8(ascii: "?"))) { mark[1] = 0 }
    nonisolated(unsafe) let (owner, peer) = (context, connection)
    let exchange = EventLoop.assumeIsolated {
      Unmanaged<Daemon>.fromOpaque(owner).takeUnretainedValue().begin(peer, target: text)
    }
    return Unmanaged.passUnretained(exchange).toOpaque()
  }

private let onAccess: MHD_AccessHandlerCallback = {
  context, _, _, method, version, data, count, state in
  guard let context, let method, let version, let count, let exchange = state?.pointee else {
    return .NO
  }
  nonisolated(unsafe) let (owner, bytes, size) = (context, data, count)
  nonisolated(unsafe) let (current, methodStart, versionStart) = (exchange, method, version)
  return EventLoop.assumeIsolated {
    let daemon = Unmanaged<Daemon>.fromOpaque(owner).takeUnretainedValue()
    let exchange = Unmanaged<Exchange>.fromOpaque(current).takeUnretainedValue()
    guard exchange.hasHead else { return daemon.receive(exchange, method: methodStart, version: versionStart) }
    guard size.pointee > 0 else { return daemon.proceed(exchange) }
    defer { size.pointee = 0 }
    return daemon.receive(exchange, UnsafeRawBufferPointer(start: bytes, count: size.pointee))
  } ? .YES : .NO
}

private let onCompleted:
  @convention(c) (
    UnsafeMutableRawPointer?, OpaquePointer?, UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    MHD_RequestTerminationCode
  ) -> Void = { context, _, state, _ in
    guard let context, let exchange = state?.pointee else { return }
    nonisolated(unsafe) let (owner, current) = (context, exchange)
    EventLoop.assumeIsolated {
      Unmanaged<Daemon>.fromOpaque(owner).takeUnretainedValue()
        .completed(Unmanaged<Exchange>.fromOpaque(current).takeUnretainedValue())
    }
  }
