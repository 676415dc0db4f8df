import EventLoop
import HTTPServer
import Telemetry

#if canImport(Glibc)
  import Glibc
#endif

/// The simulated APNs: listens, and holds what all connections share.
@EventLoop
final class Gateway {
  /// Between two attempts to accept when there are no descriptors.
  private static let restTime = Duration.milliseconds(100)

  let tls: TLSContext
  var settings: GatewaySettings
  var rules = PushRules()
  var devices = Devices()
  var verifier: ProviderTokenVerifier
  private(set) var faults = FaultPlan()
  var ledger: Ledger
  private(set) var connectionsAccepted = 0
  private(set) var effects: [String: Int] = [:]
  private(set) var port = 0
  private let log: Log
  private var listener: Int32 = -1
  private var source: SocketSource?
  private var restTimer: LoopTimer?
  private var connections: [ObjectIdentifier: Connection] = [:]
  /// Accepted and left alone, by a fault.
  private var stalled: [Int32] = []

  init(tls: TLSContext, verifier: ProviderTokenVerifier, settings: GatewaySettings, ledger: Ledger, log: Log) {
    self.tls = tls
    self.verifier = verifier
    self.settings = settings
    self.ledger = ledger
    self.log = log
  }

  var openConnections: Int { connections.count + stalled.count }

  func start(_ address: HTTPAddress) throws(HTTPServerError) {
    let socket = try ListeningSocket(address)
    listener = socket.descriptor
    port = socket.port
    source = SocketSource(descriptor: listener, onReadable: { [unowned self] in accept() }, onWritable: {})
    guard let source else { throw .cannotStart(reason: "out of descriptors") }
    source.watchReading(true)
  }

  func remove(_ connection: Connection) {
    connections[ObjectIdentifier(connection)] = nil
  }

  /// After a change of ``settings``.
  func announceSettings() {
    for connection in connections.values { connection.updateMaximumStreams() }
  }

  /// Closes every connection; the listener stays.
  func closeConnections() {
    for connection in connections.values { connection.close() }
  }

  func changeFaults(_ change: (inout FaultPlan) -> Void) {
    change(&faults)
    if !faults.stallsAccept { serveStalled() }
  }

  /// The fate of the next push, counted.
  func nextEffect() -> FaultEffect {
    guard !faults.isEmpty else { return .none }
    let effect = faults.next()
    if let name = effect.name { effects[name, default: 0] += 1 }
    return effect
  }

  func resetCounts() {
    ledger.removeAll()
    effects = [:]
    connectionsAccepted = 0
  }

  private func accept() {
    while true {
      let descriptor = Glibc.accept(listener, nil, nil)
      guard descriptor >= 0 else {
        if errno == EMFILE || errno == ENFILE { rest() }
        return
      }
      _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      connectionsAccepted += 1
      if faults.stallsAccept { stalled.append(descriptor) } else { serve(descriptor) }
    }
  }

  /// Out of descriptors: the listener would be announced again and again.
  private func rest() {
    log.warn("out of descriptors: connections wait")
    source?.watchReading(false)
    restTimer = .after(Gateway.restTime) { [unowned self] in source?.watchReading(true) }
  }

  private func serve(_ descriptor: Int32) {
    var yes: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    guard let connection = Connection(descriptor: descriptor, gateway: self) else {
      return log.warn("no descriptors or memory for a connection")
    }
    connections[ObjectIdentifier(connection)] = connection
  }

  private func serveStalled() {
    let waiting = stalled
    stalled = []
    for descriptor in waiting { serve(descriptor) }
  }
}
