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

  private let configuration: HTTPServerConfiguration
  private let log: Log
  private let handler: Handler
  private var daemon: OpaquePointer?
  private var source: SocketSource?
  private var tick: LoopTimer?
  private var graceTimer: LoopTimer?
  private var onStopped: [@EventLoop () -> Void] = []
  private var isStopping = false
  private var isRunScheduled = false
  private var exchanges: [ObjectIdentifier: Exchange] = [:]
  private var peers: [UInt: Peer] = [:]

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
    let socket = try ListeningSocket(configuration.address)
    guard let daemon = startDaemon(listening: socket.descriptor) else {
      close(socket.descriptor)
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
    if listening >= 0 { close(listening) }
    for exchange in exchanges.values { exchange.closesConnection = true }
    graceTimer = .after(grace) { [weak self] in self?.finish() }
    scheduleRun()
  }

  /// As ``stop(grace:completion:)``.
  public func stop(grace: Duration = .seconds(5)) async {
    await withCheckedContinuation { continuation in
      stop(grace: grace) { continuation.resume() }
    }
  }

  private func startDaemon(listening descriptor: Int32) -> OpaquePointer? {
    // The server outlives its daemon: `finish` stops it, and so does `deinit`.
    let context = Unmanaged.passUnretained(self).toOpaque()
    var options = [
      option(.LISTEN_SOCKET, Int(descriptor)),
      option(.CONNECTION_LIMIT, configuration.maximumConnections),
      option(.CONNECTION_TIMEOUT, configuration.connectionTimeout),
      option(.CONNECTION_MEMORY_LIMIT, configuration.maximumHeaderBytes),
      option(.URI_LOG_CALLBACK, Int(bitPattern: unsafeBitCast(onTarget, to: UInt.self)), context),
      option(.NOTIFY_COMPLETED, Int(bitPattern: unsafeBitCast(onCompleted, to: UInt.self)), context),
      option(.NOTIFY_CONNECTION, Int(bitPattern: unsafeBitCast(onConnection, to: UInt.self)), context),
      option(.END, 0),
    ]
    let flags = MHD_USE_EPOLL.rawValue | MHD_ALLOW_SUSPEND_RESUME.rawValue
    return martlet_start_daemon(flags, onAccess, context, &options)
  }

  private func option(
    _ option: MHD_OPTION, _ value: Int, _ pointer: UnsafeMutableRawPointer? = nil
  ) -> MHD_OptionItem {
    MHD_OptionItem(option: option, value: value, ptr_value: pointer)
  }

  /// Lets the daemon do what is ready; again at the end of the turn while it has more.
  private func run() {
    guard let daemon else { return }
    MHD_run(daemon)
    var milliseconds: UInt64 = 0
    if MHD_get_timeout(daemon, &milliseconds) == .YES, milliseconds == 0 { scheduleRun() }
    if isStopping, exchanges.isEmpty { finish() }
  }

  fileprivate func scheduleRun() {
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
    run()
  }

  private func finish() {
    guard let daemon else { return }
    // The daemon must not be stopped while a request is suspended.
    for exchange in exchanges.values { exchange.answer(.text("stopping\n", status: 503)) }
    MHD_run(daemon)
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
    finish()
  }
}

extension HTTPServer {
  fileprivate func connected(_ connection: OpaquePointer) {
    peers[UInt(bitPattern: connection)] = Peer(
      descriptor: martlet_connection_descriptor(connection), deadline: nextDeadline)
  }

  fileprivate func disconnected(_ connection: OpaquePointer) {
    peers[UInt(bitPattern: connection)] = nil
  }

  fileprivate func begin(_ connection: OpaquePointer, target: String) -> Exchange {
    peers[UInt(bitPattern: connection)]?.deadline = nextDeadline
    let exchange = Exchange(connection: connection, target: target, configuration: configuration) { [weak self] in
      self?.scheduleRun()
    }
    exchange.closesConnection = isStopping
    exchanges[ObjectIdentifier(exchange)] = exchange
    return exchange
  }

  fileprivate func proceed(_ exchange: Exchange, _ connection: OpaquePointer) -> Bool {
    peers[UInt(bitPattern: connection)]?.deadline = .max
    return exchange.proceed(handler)
  }

  fileprivate func completed(_ exchange: Exchange, _ connection: OpaquePointer) {
    peers[UInt(bitPattern: connection)]?.deadline = nextDeadline
    exchange.end()
    exchanges[ObjectIdentifier(exchange)] = nil
  }

  private var nextDeadline: UInt64 {
    Clock.monotonicNanoseconds + UInt64(configuration.connectionTimeout) * 1_000_000_000
  }

  /// A connection that is open.
  fileprivate struct Peer {
    let descriptor: Int32
    /// When the request that it is sending must be complete. Monotonic nanoseconds.
    var deadline: UInt64
  }
}

// The daemon calls these from `MHD_run` and `MHD_stop_daemon`, that is on the loop. The server is its context; the
// exchange, owned by the server, is the request's.

private let onConnection:
  @convention(c) (
    UnsafeMutableRawPointer?, OpaquePointer?, UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    MHD_ConnectionNotificationCode
  ) -> Void = { context, connection, _, code in
    guard let context, let connection else { return }
    nonisolated(unsafe) let (server, peer) = (context, connection)
    EventLoop.assumeIsolated {
      let server = Unmanaged<HTTPServer>.fromOpaque(server).takeUnretainedValue()
      if code == .CONNECTION_NOTIFY_STARTED { server.connected(peer) } else { server.disconnected(peer) }
    }
  }

private let onTarget:
  @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?, OpaquePointer?) -> UnsafeMutableRawPointer? = {
    context, target, connection in
    guard let context, let target, let connection else { return nil }
    let text = String(cString: target)
    nonisolated(unsafe) let (server, peer) = (context, connection)
    let exchange = EventLoop.assumeIsolated {
      Unmanaged<HTTPServer>.fromOpaque(server).takeUnretainedValue().begin(peer, target: text)
    }
    return Unmanaged.passUnretained(exchange).toOpaque()
  }

private let onAccess: MHD_AccessHandlerCallback = {
  context, connection, _, method, _, data, count, state in
  guard let context, let connection, let method, let count, let exchange = state?.pointee else { return .NO }
  nonisolated(unsafe) let (server, peer, bytes, size) = (context, connection, data, count)
  nonisolated(unsafe) let current = exchange
  let name = String(cString: method)
  return EventLoop.assumeIsolated {
    let server = Unmanaged<HTTPServer>.fromOpaque(server).takeUnretainedValue()
    let exchange = Unmanaged<Exchange>.fromOpaque(current).takeUnretainedValue()
    guard exchange.hasHead else { return exchange.receiveHead(method: name) }
    guard size.pointee > 0 else { return server.proceed(exchange, peer) }
    defer { size.pointee = 0 }
    return exchange.receive(UnsafeRawBufferPointer(start: bytes, count: size.pointee))
  } ? .YES : .NO
}

private let onCompleted:
  @convention(c) (
    UnsafeMutableRawPointer?, OpaquePointer?, UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    MHD_RequestTerminationCode
  ) -> Void = { context, connection, state, _ in
    guard let context, let connection, let exchange = state?.pointee else { return }
    nonisolated(unsafe) let (server, peer, current) = (context, connection, exchange)
    EventLoop.assumeIsolated {
      Unmanaged<HTTPServer>.fromOpaque(server).takeUnretainedValue()
        .completed(Unmanaged<Exchange>.fromOpaque(current).takeUnretainedValue(), peer)
    }
  }
