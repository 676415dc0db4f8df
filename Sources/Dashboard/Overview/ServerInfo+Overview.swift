import EventLoop
import Redis

extension ServerInfo {
  private static let maximumServers = 12

  /// Asks each server, at most ``maximumServers``.
  @EventLoop
  static func read(_ connection: RedisClient) async throws(RedisError) -> [ServerInfo] {
    var servers: [ServerInfo] = []
    for server in 0..<min(connection.serverCount, maximumServers) {
      servers.append(try await connection.info(ofServer: server))
    }
    return servers
  }

  /// How it keeps what it has; nil if it does not tell.
  var persistence: String? {
    guard let isAppendOnly else { return nil }
    if isAppendOnly { return hasFailedWrite ? "AOF, last write failed" : "AOF" }
    return hasSnapshots ? "snapshots only" : nil
  }
}
