import EventLoop
import Glibc

/// Asks sentinels for the master's address. Blocks; for the connector's queue.
enum Sentinel {
  /// Returns the answer of the first sentinel that has one. Each gets an equal share of the remaining time.
  static func master(
    _ name: String, of sentinels: [RedisEndpoint.HostAndPort], until deadline: UInt64
  ) throws(RedisError) -> RedisEndpoint.HostAndPort {
    var failure = RedisError.notSent("no sentinel answered in time")
    for (index, sentinel) in sentinels.enumerated() {
      let now = Clock.monotonicNanoseconds
      guard now < deadline else { break }
      do {
        return try ask(sentinel, name, until: now + (deadline - now) / UInt64(sentinels.count - index + 1))
      } catch {
        failure = error
      }
    }
    throw failure
  }

  private static func ask(
    _ sentinel: RedisEndpoint.HostAndPort, _ name: String, until deadline: UInt64
  ) throws(RedisError) -> RedisEndpoint.HostAndPort {
    let transport = Transport(descriptor: try Connector.dial(sentinel, until: deadline))
    let command = RedisCommand("SENTINEL", "get-master-addr-by-name", name)
    switch try exchange(command, transport, sentinel.summary, until: deadline) {
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
    guard parts.count == 2, let host = parts[0].string, let port = parts[1].string.flatMap({ UInt16($0) }),
      port > 0, !host.isEmpty, !host.utf8.contains(0)
    else { return nil }
    return RedisEndpoint.HostAndPort(host: host, port: port)
  }

  private static func exchange(
    _ command: RedisCommand, _ transport: Transport, _ name: String, until deadline: UInt64
  ) throws(RedisError) -> RedisValue {
    var output: [UInt8] = []
    guard let reader = ReplyReader(), RequestFormatter.append(command, to: &output) else {
      throw .notSent("out of memory")
    }
    // The command is smaller than any socket buffer, so one write is enough.
    guard transport.write(output, from: 0) == .bytes(output.count) else {
      throw .notSent("sentinel \(name) closed the connection")
    }
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      switch reader.next() {
      case .value(let value): return value
      case .broken(let reason), .tooLarge(let reason): throw .notSent("sentinel \(name): \(reason)")
      case .needsMore: break
      }
      guard Poll.wait(transport.descriptor, for: POLLIN, until: deadline) else {
        throw .notSent("sentinel \(name) did not answer in time")
      }
      switch transport.read(into: &buffer) {
      case .bytes(let count): reader.feed(buffer, count: count)
      case .wouldBlock: break
      case .ended: throw .notSent("sentinel \(name) closed the connection")
      }
    }
  }
}
