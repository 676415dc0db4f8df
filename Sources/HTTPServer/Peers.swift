import CMicroHTTPD
import EventLoop

#if canImport(Glibc)
  import Glibc
#endif

/// The open connections of a server, of all of its daemons. Closes those that take too long or too much.
@EventLoop
final class Peers {
  /// How long a request may take to arrive while the server is stopping.
  private static let stoppingPatience = Duration.seconds(3)
  /// How long the first request of a connection with TLS may take to begin. Seconds.
  private static let handshakePatience = 10

  private let configuration: HTTPServerConfiguration
  private var budget: RequestBudget
  /// By the address of the daemon's connection.
  private var peers: [RequestBudget.ID: Peer] = [:]
  private let lingering = LingeringSockets()

  init(_ configuration: HTTPServerConfiguration) {
    self.configuration = configuration
    budget = RequestBudget(configuration.budget)
  }

  var count: Int { peers.count }

  func address(of connection: OpaquePointer) -> ClientAddress {
    peers[id(connection)]?.address ?? .unixSocket
  }

  /// `hasTLS`: the connection begins with a handshake.
  func open(_ connection: OpaquePointer, hasTLS: Bool) {
    let address = ClientAddress(martlet_connection_address(connection).flatMap { IPAddress($0) })
    let patience = configuration.connectionTimeout
    peers[id(connection)] = Peer(
      descriptor: martlet_connection_descriptor(connection), address: address,
      deadline: deadline(within: hasTLS ? min(patience, Peers.handshakePatience) : patience))
    let client = configuration.trustedProxies.isTrusted(peer: address.ip) ? nil : address.ip?.client
    drop(budget.open(id(connection), client: client, hasTLS: hasTLS))
  }

  func close(_ connection: OpaquePointer) {
    peers[id(connection)] = nil
    budget.close(id(connection))
  }

  /// The request enters a phase: its first line has arrived, it is complete, or the daemon has finished with it.
  func enter(_ phase: RequestBudget.Phase, _ exchange: Exchange) {
    let id = id(exchange.connection)
    if let peer = peers[id] {
      peer.exchange = phase == .waiting ? nil : exchange
      peer.deadline = phase == .answering ? .max : deadline(within: configuration.connectionTimeout)
    }
    drop(budget.enter(phase, id))
  }

  /// More of the request has arrived.
  func receive(_ exchange: Exchange) {
    drop(budget.charge(exchange.chargedBytes, id(exchange.connection)))
  }

  /// The connection is closed while the client may still be sending.
  func linger(_ connection: OpaquePointer) {
    lingering.add(martlet_connection_descriptor(connection))
  }

  /// Closes connections whose request takes too long, even if a byte arrives now and then, and some of those that wait for one
  /// if there are more than `count`.
  func expire(over count: Int) {
    let now = Clock.monotonicNanoseconds
    for peer in peers.values where peer.deadline < now { peer.disconnect() }
    drop(budget.reduce(to: count))
    // The allocator keeps what it has freed, for ever if something above it is still used.
    if budget.endsWave() { malloc_trim(0) }
  }

  /// Shortens the deadlines of all requests that have not arrived completely.
  func hasten() {
    for id in peers.keys { hasten(id) }
  }

  func hasten(_ exchange: Exchange) { hasten(id(exchange.connection)) }

  private func hasten(_ id: RequestBudget.ID) {
    let latest = Clock.monotonicNanoseconds + UInt64(Peers.stoppingPatience.nanoseconds)
    guard let peer = peers[id], peer.deadline != .max, peer.deadline > latest else { return }
    peer.deadline = latest
  }

  private func drop(_ ids: [RequestBudget.ID]) {
    for id in ids {
      guard let peer = peers[id] else { continue }
      peer.exchange?.abandon()
      peer.disconnect()
    }
  }

  private func id(_ connection: OpaquePointer) -> RequestBudget.ID { UInt(bitPattern: connection) }

  private func deadline(within seconds: Int) -> UInt64 {
    Clock.monotonicNanoseconds + UInt64(seconds) * 1_000_000_000
  }
}
