import EventLoop
import Redis

/// Which server of a cluster has which slots. Keys can be missed by who reads one server after the other while it
/// changes.
struct SlotAssignment: Sendable, Equatable {
  /// For each server its ranges of slots, and the slots that are being moved: `0-5460 [93->-<id of a server>]`.
  private let servers: [String]

  /// Whether slots are being moved.
  var isChanging: Bool { servers.contains { $0.contains("[") } }

  /// `nodes` is each server's reply to CLUSTER NODES.
  init(nodes: [String]) {
    servers = nodes.map { text in
      let own = text.split(whereSeparator: \.isNewline).first { $0.contains("myself") }
      return own?.split(separator: " ").dropFirst(8).joined(separator: " ") ?? ""
    }
  }

  /// Asks the servers. One that does not allow the question counts as one without slots.
  @EventLoop
  static func read(_ connection: RedisClient) async -> SlotAssignment {
    guard connection.isCluster else { return SlotAssignment(nodes: []) }
    var nodes: [String] = []
    for server in 0..<connection.serverCount {
      let reply = try? await connection.send(RedisCommand("CLUSTER", "NODES"), toServer: server)
      nodes.append(reply?.string ?? "")
    }
    return SlotAssignment(nodes: nodes)
  }
}
