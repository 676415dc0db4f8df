import JSON

/// What a server reports about itself with INFO. Values that it does not report are nil.
public struct ServerInfo: Sendable, Equatable {
  public var engine: ServerEngine
  /// The version of Redis that the server is, or resembles: `7.0.15`.
  public var version: String?
  /// `master`, `slave`, or KeyDB's `active-replica`
  public var role: String?
  /// `standalone`, `sentinel` or `cluster`
  public var mode: String?
  /// For example `noeviction`.
  public var memoryPolicy: String?
  /// Bytes.
  public var usedMemory: Int64?
  /// Bytes; 0 for no limit.
  public var maximumMemory: Int64?
  /// Bytes of ``usedMemory`` that do not count towards ``maximumMemory``: buffers of replicas and of the append-only file.
  public var uncountedMemory: Int64?
  /// Bytes of the machine.
  public var machineMemory: Int64?
  public var clients: Int64?
  public var commandsPerSecond: Int64?
  /// Seconds.
  public var uptime: Int64?
  public var isAppendOnly: Bool?
  /// Whether the last write to the append-only file has failed.
  public var hasFailedWrite: Bool
  /// Whether the server tells when it saved a snapshot last.
  public var hasSnapshots: Bool

  /// Reads the reply to INFO.
  public init(_ text: String) {
    var values: [String: String] = [:]
    // As bytes: this is read with each heartbeat, and characters cost ten times as much.
    for line in text.utf8.split(whereSeparator: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) {
      let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { values[String(Substring(parts[0]))] = String(Substring(parts[1])) }
    }
    func number(_ name: String) -> Int64? { values[name]?.integer(in: NumberRange.counts) }
    engine = ServerEngine(fields: values)
    version = values["redis_version"]
    role = values["role"]
    mode = values["redis_mode"] ?? values["server_mode"]
    memoryPolicy = values["maxmemory_policy"]
    usedMemory = number("used_memory")
    maximumMemory = number("maxmemory")
    uncountedMemory = number("mem_not_counted_for_evict")
    machineMemory = number("total_system_memory")
    clients = number("connected_clients")
    commandsPerSecond = number("instantaneous_ops_per_sec")
    uptime = number("uptime_in_seconds")
    isAppendOnly = values["aof_enabled"].map { $0 == "1" }
    hasFailedWrite = values["aof_last_write_status"] == "err"
    hasSnapshots = values["rdb_last_save_time"] != nil
  }

  /// The share of the allowed memory that is used; nil without a limit.
  public var memoryShare: Double? {
    guard let usedMemory, let maximumMemory, maximumMemory > 0 else { return nil }
    return Double(usedMemory) / Double(maximumMemory)
  }
}

extension RedisClient {
  /// Asks one of ``serverCount`` servers. `section` is one of Redis'; nil for all that it reports by default.
  public func info(ofServer index: Int, section: String? = nil) async throws(RedisError) -> ServerInfo {
    let command = section.map { RedisCommand("INFO", $0) } ?? RedisCommand("INFO")
    return ServerInfo(try await send(command, toServer: index).string ?? "")
  }
}
