import EventLoop

// Reading all strings of a kind, of any number, in parts.
extension RedisClient {
  /// Approximate number of keys of one SCAN.
  private static let scanCount = 1000

  /// Some strings of one server, and where the next part begins; `0` after the last.
  public typealias ScannedPage = (entries: [(key: [UInt8], value: [UInt8]?)], next: String)

  /// Reads some of the strings of a server whose key begins with `prefix`. Those that change meanwhile may occur twice.
  public func page(
    ofStrings prefix: String, server: Int, from cursor: String
  ) async throws(RedisError) -> ScannedPage {
    let (keys, next) = try await keys(like: "\(prefix)*", server: server, from: cursor)
    guard !keys.isEmpty else { return ([], next) }
    let values = try await send(RedisCommand("MGET", keys)).array ?? []
    return (zip(keys, values).map { ($0, $1.bytes) }, next)
  }

  /// Reads some of the keys of a server that match a pattern of SCAN, and where the next part begins; `0` after the last.
  /// `type`: of their values, as TYPE names it; nil for any. Keys that change meanwhile may occur twice.
  public func keys(
    like pattern: String = "*", type: String? = nil, server: Int, from cursor: String
  ) async throws(RedisError) -> (keys: [[UInt8]], next: String) {
    var scan = RedisCommand("SCAN", cursor, "MATCH", pattern, "COUNT").with(RedisClient.scanCount)
    if let type { scan = scan.with("TYPE").with(type) }
    let reply = try await send(scan, toServer: server).array ?? []
    guard reply.count == 2, let next = reply[0].string else { return ([], "0") }
    return ((reply[1].array ?? []).compactMap(\.bytes), next)
  }
}
