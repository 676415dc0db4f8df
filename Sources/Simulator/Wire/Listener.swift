import EventLoop
import HTTPServer
import Telemetry

#if canImport(Glibc)
  import Glibc
#endif

/// Accepts connections on one port of the gateway.
@EventLoop
final class Listener {
  /// Time between two attempts to accept while descriptors are exhausted.
  private static let restTime = Duration.milliseconds(100)

  let port: Int
  private let descriptor: Int32
  private let log: Log
  private let onAccept: @EventLoop (Int32) -> Void
  private var source: SocketSource?
  private var restTimer: LoopTimer?

  /// `onAccept` takes ownership of the descriptor of each connection.
  init(_ address: HTTPAddress, log: Log, onAccept: @escaping @EventLoop (Int32) -> Void) throws(HTTPServerError) {
    let socket = try ListeningSocket(address)
    descriptor = socket.descriptor
    port = socket.port
    self.log = log
    self.onAccept = onAccept
    source = SocketSource(descriptor: descriptor, onReadable: { [unowned self] in accept() }, onWritable: {})
    guard let source else { throw .cannotStart(reason: "out of descriptors") }
    source.watchReading(true)
  }

  private func accept() {
    while true {
      let connection = Glibc.accept(descriptor, nil, nil)
      guard connection >= 0 else {
        if errno == EMFILE || errno == ENFILE { rest() }
        return
      }
      _ = fcntl(connection, F_SETFL, O_NONBLOCK)
      _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
      onAccept(connection)
    }
  }

  /// Pauses accepting because descriptors are exhausted: the listening socket would stay readable.
  private func rest() {
    log.warn("file descriptors are exhausted; new connections wait")
    source?.watchReading(false)
    restTimer = .after(Listener.restTime) { [unowned self] in source?.watchReading(true) }
  }
}
