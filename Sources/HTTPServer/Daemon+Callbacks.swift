import CMicroHTTPD
import Crypto
import EventLoop

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
      option(.LISTEN_SOCKET, Int(descriptor)),
      option(.CONNECTION_LIMIT, service.maximumConnections),
      option(.CONNECTION_TIMEOUT, service.configuration.connectionTimeout),
      option(.CONNECTION_MEMORY_LIMIT, Daemon.headMultiple * service.configuration.maximumHeaderBytes),
      option(.URI_LOG_CALLBACK, Int(bitPattern: unsafeBitCast(onTarget, to: UInt.self)), context),
      option(.NOTIFY_COMPLETED, Int(bitPattern: unsafeBitCast(onCompleted, to: UInt.self)), context),
      option(.NOTIFY_CONNECTION, Int(bitPattern: unsafeBitCast(onConnection, to: UInt.self)), context),
    ]
    let flags = MHD_USE_EPOLL.rawValue | MHD_ALLOW_SUSPEND_RESUME.rawValue
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
