import EventLoop
import Redis

/// What a server reports about itself. Values that it does not report are nil.
struct RedisState: Sendable, Equatable {
  var name: String?
  var version: String?
  var role: String?
  var memoryPolicy: String?
  /// Bytes.
  var usedMemory: Int64?
  /// Bytes; 0 for no limit.
  var maximumMemory: Int64?
  var clients: Int64?
  var commandsPerSecond: Int64?
  /// Seconds.
  var uptime: Int64?
  var replicas: Int64?
  var persistence: String?

  /// Reads the reply of INFO.
  init(info: String) {
    var values: [Substring: Substring] = [:]
    for line in info.split(whereSeparator: \.isNewline) {
      guard let colon = line.firstIndex(of: ":") else { continue }
      values[line[..<colon]] = line[line.index(after: colon)...]
    }
    func number(_ name: Substring) -> Int64? { values[name].flatMap { Int64($0) } }
    let valkey = values["valkey_version"]
    name = valkey != nil ? "Valkey" : "Redis"
    version = (valkey ?? values["redis_version"]).map(String.init)
    role = values["role"].map(String.init)
    memoryPolicy = values["maxmemory_policy"].map(String.init)
    usedMemory = number("used_memory")
    maximumMemory = number("maxmemory")
    clients = number("connected_clients")
    commandsPerSecond = number("instantaneous_ops_per_sec")
    uptime = number("uptime_in_seconds")
    replicas = number("connected_slaves")
    persistence = RedisState.persistence(values)
  }

  /// The share of the allowed memory that is used; nil without a limit.
  var memoryShare: Double? {
    guard let usedMemory, let maximumMemory, maximumMemory > 0 else { return nil }
    return Double(usedMemory) / Double(maximumMemory)
  }

  /// Reads the state of each server, of at most ``maximumServers``.
  @EventLoop
  static func read(_ connection: RedisClient) async throws(RedisError) -> [RedisState] {
    var states: [RedisState] = []
    for server in 0..<min(connection.serverCount, maximumServers) {
      let info = try await connection.send(RedisCommand("INFO"), toServer: server).string ?? ""
      states.append(RedisState(info: info))
    }
    return states
  }

  static let maximumServers = 12

  private static func persistence(_ values: [Substring: Substring]) -> String? {
    guard let appendOnly = values["aof_enabled"] else { return nil }
    if appendOnly == "1" { return values["aof_last_write_status"] == "err" ? "AOF, last write failed" : "AOF" }
    return values["rdb_last_save_time"] == nil ? nil : "snapshots only"
  }
}
