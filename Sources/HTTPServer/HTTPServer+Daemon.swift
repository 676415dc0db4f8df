import CMicroHTTPD
import EventLoop

#if canImport(Glibc)
  import Glibc
#endif

/// The daemon of libmicrohttpd, and its callbacks.
extension HTTPServer {
  /// The memory of a connection as a multiple of the largest head. It holds the head, about 64 bytes for each field, and the
  /// head of the answer.
  private static let headMultiple = 2

  func startDaemon(listening descriptor: Int32) -> OpaquePointer? {
    // The server outlives the daemon: `finish` and `deinit` stop it.
    let context = Unmanaged.passUnretained(self).toOpaque()
    var options = [
      option(.LISTEN_SOCKET, Int(descriptor)),
      option(.CONNECTION_LIMIT, maximumConnections),
      option(.CONNECTION_TIMEOUT, configuration.connectionTimeout),
      option(.CONNECTION_MEMORY_LIMIT, HTTPServer.headMultiple * configuration.maximumHeaderBytes),
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

  func connected(_ connection: OpaquePointer) {
    calls += 1
    peers[UInt(bitPattern: connection)] = Peer(
      descriptor: martlet_connection_descriptor(connection),
      address: Peer.text(of: martlet_connection_address(connection)), deadline: nextDeadline)
  }

  func disconnected(_ connection: OpaquePointer) {
    calls += 1
    peers[UInt(bitPattern: connection)] = nil
  }

  func begin(_ connection: OpaquePointer, target: String) -> Exchange {
    calls += 1
    peers[UInt(bitPattern: connection)]?.deadline = nextDeadline
    let exchange = Exchange(
      connection: connection, peerAddress: peers[UInt(bitPattern: connection)]?.address ?? HTTPRequest.unixPeer,
      target: target, configuration: configuration
    ) { [weak self] in
      self?.scheduleRun()
    }
    exchange.closesConnection = isStopping
    exchanges[ObjectIdentifier(exchange)] = exchange
    return exchange
  }

  func proceed(_ exchange: Exchange, _ connection: OpaquePointer) -> Bool {
    peers[UInt(bitPattern: connection)]?.deadline = .max
    return exchange.proceed(isFinishing ? { _, reply in reply(HTTPServer.unavailable) } : handler)
  }

  func completed(_ exchange: Exchange, _ connection: OpaquePointer) {
    calls += 1
    peers[UInt(bitPattern: connection)]?.deadline = nextDeadline
    exchange.end()
    exchanges[ObjectIdentifier(exchange)] = nil
  }

  private var nextDeadline: UInt64 {
    Clock.monotonicNanoseconds + UInt64(configuration.connectionTimeout) * 1_000_000_000
  }
}

// The daemon calls these from `MHD_run` and `MHD_stop_daemon`, that is on the event loop. Their context is the server. The
// state of a request is its exchange, which the server owns.

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
    // The daemon would decode the query, and close the connection without an answer if that takes more memory than it has.
    // A zero after the question mark ends the query for the daemon.
    if let mark = strchr(target, Int32(UInt8(ascii: "?"))) { mark[1] = 0 }
    nonisolated(unsafe) let (server, peer) = (context, connection)
    let exchange = EventLoop.assumeIsolated {
      Unmanaged<HTTPServer>.fromOpaque(server).takeUnretainedValue().begin(peer, target: text)
    }
    return Unmanaged.passUnretained(exchange).toOpaque()
  }

private let onAccess: MHD_AccessHandlerCallback = {
  context, connection, _, method, version, data, count, state in
  guard let context, let connection, let method, let version, let count, let exchange = state?.pointee else {
    return .NO
  }
  nonisolated(unsafe) let (server, peer, bytes, size) = (context, connection, data, count)
  nonisolated(unsafe) let (current, methodStart, versionStart) = (exchange, method, version)
  return EventLoop.assumeIsolated {
    let server = Unmanaged<HTTPServer>.fromOpaque(server).takeUnretainedValue()
    let exchange = Unmanaged<Exchange>.fromOpaque(current).takeUnretainedValue()
    server.calls += 1
    guard exchange.hasHead else { return exchange.receiveHead(method: methodStart, version: versionStart) }
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
