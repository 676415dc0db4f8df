import EventLoop
import JSON

/// Asks sentinels for the master's address. Blocks; for the connector's queue.
enum Sentinel {
  /// Returns the answer of the first sentinel that has one. Leaves the master a share of the time.
  static func master(
    _ name: String, of sentinels: [RedisEndpoint.HostAndPort], until deadline: UInt64
  ) throws(RedisError) -> RedisEndpoint.HostAndPort {
    try Connector.first(of: sentinels, until: deadline, keeping: 1, else: "no sentinel answered in time") {
      sentinel, deadline throws(RedisError) in
      try ask(sentinel, name, until: deadline)
    }
  }

  private static func ask(
    _ sentinel: RedisEndpoint.HostAndPort, _ name: String, until deadline: UInt64
  ) throws(RedisError) -> RedisEndpoint.HostAndPort {
    let exchange = BlockingExchange(
      transport: Transport(descriptor: try Connector.dial(sentinel, until: deadline)),
      server: "sentinel \(sentinel.summary)")
    switch try exchange.send(RedisCommand("SENTINEL", "get-master-addr-by-name", name), until: deadline) {
    case .array(let parts):
      guard let address = address(parts) else { break }
      return address
    case .error(let error): throw .notSent("sentinel \(sentinel.summary) refused: \(error.message)")
    case .null: throw .notSent("sentinel \(sentinel.summary) knows no master \(name): check the name in REDIS_URL")
    default: break
    }
    throw .notSent("sentinel \(sentinel.summary) replied with something other than an address")
  }

  /// From `["10.0.0.1", "6379"]`.
  static func address(_ parts: [RedisValue]) -> RedisEndpoint.HostAndPort? {
    guard parts.count == 2, let host = parts[0].string, let port = parts[1].string?.integer(in: 1...UInt16.max),
      RedisEndpoint.HostAndPort.isHost(host)
    else { return nil }
    return RedisEndpoint.HostAndPort(host: host, port: port)
  }
}
