/// Which primary of a cluster has which hash slots. A value: ``ClusterRouter`` exchanges the messages.
struct ClusterTopology: Equatable {
  typealias Server = RedisEndpoint.HostAndPort

  /// Those that have slots, and those that a redirection has named.
  private(set) var servers: [Server] = []
  /// Of each slot the place in ``servers``, or -1.
  private var owners: [Int16]

  /// More are not used: Redis Cluster is made for this many.
  static let maximumServers = 1000

  init() {
    owners = Array(repeating: -1, count: HashSlot.count)
  }

  /// Reads the reply to CLUSTER SLOTS. A server without a name is the one that was asked.
  ///
  /// Throws ``RedisError/notSent(_:)`` if the reply is something else, or names no slot.
  init(_ reply: RedisValue, askedServer: Server) throws(RedisError) {
    self.init()
    for range in reply.array ?? [] {
      guard let parts = range.array, parts.count >= 3, let first = parts[0].count, let last = parts[1].count,
        first <= last, last < HashSlot.count, let primary = parts[2].array, primary.count >= 2,
        let port = primary[1].integer(in: 1...65_535).map({ UInt16($0) })
      else { throw .notSent("\(askedServer.summary) replied to CLUSTER SLOTS with something else") }
      let named = primary[0].string ?? ""
      let name = named.isEmpty ? askedServer.host : named
      // A server whose name is not known yet.
      guard name != "?", Server.isHost(name) else { continue }
      guard let place = insert(Server(host: name, port: port)) else {
        throw .notSent(
          "\(askedServer.summary) named more than \(ClusterTopology.maximumServers) servers of its cluster")
      }
      for slot in first...last { owners[slot] = place }
    }
    guard !servers.isEmpty else { throw .notSent("\(askedServer.summary) knows of no slots: is the cluster created?") }
  }

  subscript(slot: Int) -> Server? {
    let place = owners[slot]
    return place < 0 ? nil : servers[Int(place)]
  }

  /// Notes a redirection, unless there are ``maximumServers``.
  mutating func move(slot: Int, to server: Server) {
    if let place = insert(server) { owners[slot] = place }
  }

  private mutating func insert(_ server: Server) -> Int16? {
    if let place = servers.firstIndex(of: server) { return Int16(place) }
    guard servers.count < ClusterTopology.maximumServers else { return nil }
    servers.append(server)
    return Int16(servers.count - 1)
  }

  /// The slots that have another server than in `other`.
  func changes(from other: ClusterTopology) -> [Int] {
    (0..<HashSlot.count).filter { self[$0] != other[$0] }
  }

  /// The first and the last of each range of slots that no server has.
  var uncovered: [ClosedRange<Int>] {
    var ranges: [ClosedRange<Int>] = []
    for slot in 0..<HashSlot.count where owners[slot] < 0 {
      if let last = ranges.last, last.upperBound == slot - 1 {
        ranges[ranges.count - 1] = last.lowerBound...slot
      } else {
        ranges.append(slot...slot)
      }
    }
    return ranges
  }
}
