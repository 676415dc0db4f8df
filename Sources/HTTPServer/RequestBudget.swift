/// Bounds what the clients of a listener can make it hold: the memory of connections and of requests that are not answered, and
/// for each client the number of connections without a complete request.
///
/// A value: it is told what happens, and returns the connections that must be closed.
package struct RequestBudget {
  /// Identifies a connection.
  typealias ID = UInt

  /// What a connection does.
  enum Phase {
    /// It has not sent the beginning of its first request over TLS.
    case handshaking
    /// It has not sent a complete first request, or has begun another one.
    case receiving
    /// Its request is complete. Closing it would free nothing before the answer.
    case answering
    /// It has had an answer, and may send another request.
    case waiting
  }

  package struct Limits: Sendable {
    /// Of all connections and their requests. Bytes.
    package var bytes = 64 << 20
    var handshakes = 512
    var handshakesOfClient = 64
    /// Requests that have not arrived completely.
    var requestsOfClient = 256
  }

  /// What libmicrohttpd holds for a connection: the memory of a head and of the head of its answer, and its own state. Bytes.
  static let connectionBytes = 36 << 10
  /// The same with a session of GnuTLS. Bytes.
  static let connectionBytesWithTLS = 64 << 10
  /// Over the limit, connections are closed until this share of it is free, so that the search for them is rare.
  private static let freeShare = 16
  /// The fall of ``bytes`` after which freed memory is returned to the system. Bytes.
  private static let wave = 4 << 20
  /// Smaller differences do not decide which connection is closed. Bytes.
  private static let unit = 16 << 10

  private struct Entry {
    let client: Client
    let ownBytes: Int
    var phase: Phase
    var requestBytes = 0
    /// Grows with each change of the phase.
    var age: UInt64

    var bytes: Int { ownBytes + requestBytes }
  }

  private struct Share {
    var connections = 0
    var bytes = 0
    /// The longest waiting first.
    var handshakes: [ID] = []
    /// Those that receive, the longest waiting first.
    var requests: [ID] = []

    mutating func replace(_ id: ID, _ former: Entry?, by entry: Entry?) {
      connections += (entry == nil ? 0 : 1) - (former == nil ? 0 : 1)
      bytes += (entry?.bytes ?? 0) - (former?.bytes ?? 0)
      switch former?.phase {
      case .handshaking: handshakes.removeAll { $0 == id }
      case .receiving: requests.removeAll { $0 == id }
      case .answering, .waiting, nil: break
      }
      switch entry?.phase {
      case .handshaking: handshakes.append(id)
      case .receiving: requests.append(id)
      case .answering, .waiting, nil: break
      }
    }
  }

  private enum Client: Hashable {
    case address(String)
    /// A connection whose address many clients have.
    case connection(ID)
  }

  private let limits: Limits
  private var entries: [ID: Entry] = [:]
  private var shares: [Client: Share] = [:]
  private var changes: UInt64 = 0
  private var handshakes = 0
  /// Of all connections and their requests.
  private(set) var bytes = 0 { didSet { peak = max(peak, bytes) } }
  private var peak = 0

  var connections: Int { entries.count }

  init(_ limits: Limits = Limits()) {
    self.limits = limits
  }

  /// Adds a connection. `client`: nil if its address is that of many clients. Returns the connections to close.
  mutating func open(_ id: ID, client: String?, hasTLS: Bool) -> [ID] {
    close(id)
    let entry = Entry(
      client: client.map(Client.address) ?? .connection(id),
      ownBytes: hasTLS ? RequestBudget.connectionBytesWithTLS : RequestBudget.connectionBytes,
      phase: hasTLS ? .handshaking : .receiving, age: nextAge())
    replace(id, nil, by: entry)
    return excess(of: entry.client)
  }

  /// Notes that a connection has entered `phase`, without the bytes of an earlier request. Returns the connections to close.
  mutating func enter(_ phase: Phase, _ id: ID) -> [ID] {
    guard let former = entries[id], former.phase != phase || phase != .answering else { return [] }
    var entry = former
    if phase != .answering { entry.requestBytes = 0 }
    entry.phase = phase
    entry.age = nextAge()
    replace(id, former, by: entry)
    return phase == .handshaking || phase == .receiving ? excess(of: entry.client) : []
  }

  /// Sets how many bytes the request of a connection takes now. Returns the connections to close.
  mutating func charge(_ requestBytes: Int, _ id: ID) -> [ID] {
    guard var entry = entries[id] else { return [] }
    let difference = requestBytes - entry.requestBytes
    entry.requestBytes = requestBytes
    entries[id] = entry
    shares[entry.client]?.bytes += difference
    bytes += difference
    return bytes > limits.bytes ? shed() : []
  }

  mutating func close(_ id: ID) {
    guard let entry = entries[id] else { return }
    replace(id, entry, by: nil)
    if shares[entry.client]?.connections == 0 { shares[entry.client] = nil }
  }

  /// Whether ``bytes`` has fallen far since the last call that returned true.
  mutating func endsWave() -> Bool {
    guard peak - bytes >= RequestBudget.wave else { return false }
    peak = bytes
    return true
  }

  /// Returns the connections to close so that at most `count` are left. Those with a complete request stay.
  mutating func reduce(to count: Int) -> [ID] {
    let excess = entries.count - count
    return excess > 0 ? closed(dispensable { $0.connections }.prefix(excess)) : []
  }
}

extension RequestBudget {
  private mutating func nextAge() -> UInt64 {
    changes += 1
    return changes
  }

  /// `former`: what is known of the connection, nil if it is new. `entry`: nil if it is closed.
  private mutating func replace(_ id: ID, _ former: Entry?, by entry: Entry?) {
    guard let client = (entry ?? former)?.client else { return }
    entries[id] = entry
    bytes += (entry?.bytes ?? 0) - (former?.bytes ?? 0)
    handshakes += (entry?.phase == .handshaking ? 1 : 0) - (former?.phase == .handshaking ? 1 : 0)
    shares[client, default: Share()].replace(id, former, by: entry)
  }

  /// A client over its share loses what it has begun longest ago, so that those behind the same address who go on are served.
  private mutating func excess(of client: Client) -> [ID] {
    var over: [ID] = []
    if let share = shares[client] {
      over += share.handshakes.prefix(max(0, share.handshakes.count - limits.handshakesOfClient))
      over += share.requests.prefix(max(0, share.requests.count - limits.requestsOfClient))
    }
    over = closed(over)
    if handshakes > limits.handshakes, let first = oldestHandshake() { over += closed([first]) }
    return bytes > limits.bytes ? over + shed() : over
  }

  /// Of the client with the most.
  private func oldestHandshake() -> ID? {
    let heads = shares.values.compactMap { share in share.handshakes.first.map { (share.handshakes.count, $0) } }
    return heads.max { ($0.0, age($1.1)) < ($1.0, age($0.1)) }?.1
  }

  private func age(_ id: ID) -> UInt64 { entries[id]?.age ?? 0 }

  private mutating func shed() -> [ID] {
    var left = bytes - (limits.bytes - limits.bytes / RequestBudget.freeShare)
    let over = dispensable { $0.bytes / RequestBudget.unit }.prefix { id in
      defer { left -= entries[id]?.bytes ?? 0 }
      return left > 0
    }
    return closed(over)
  }

  private mutating func closed(_ ids: some Sequence<ID>) -> [ID] {
    let ids = Array(ids)
    for id in ids { close(id) }
    return ids
  }

  /// Returns the connections without a complete request in the order in which they may be closed: from the client that has
  /// most by `measure`, counted anew after each, the one with most bytes; of equal ones those between requests, then the
  /// longest waiting. So one client cannot keep others from being served.
  private func dispensable(_ measure: (Share) -> Int) -> [ID] {
    var ranks: [Rank] = []
    let open = entries.filter { $0.value.phase != .answering }
    for (client, entries) in Dictionary(grouping: open, by: \.value.client) {
      guard var share = shares[client] else { continue }
      let own = entries.map { Rank(share: 0, entry: $0.value, id: $0.key) }.sorted(by: <)
      for var rank in own {
        rank.share = measure(share)
        share.connections -= 1
        share.bytes -= rank.bytes
        ranks.append(rank)
      }
    }
    return ranks.sorted(by: <).map(\.id)
  }

  private struct Rank: Comparable {
    var share: Int
    let bytes: Int
    let isWaiting: Bool
    let age: UInt64
    let id: ID

    init(share: Int, entry: Entry, id: ID) {
      self.share = share
      bytes = entry.bytes
      isWaiting = entry.phase == .waiting
      age = entry.age
      self.id = id
    }

    static func < (left: Rank, right: Rank) -> Bool {
      (right.share, right.bytes / unit, left.isWaiting ? 0 : 1, left.age)
        < (left.share, left.bytes / unit, right.isWaiting ? 0 : 1, right.age)
    }
  }
}
