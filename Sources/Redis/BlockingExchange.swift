import EventLoop
import Glibc

/// A connection that waits for each reply; for the connector's queue, before a connection is handed to the loop.
struct BlockingExchange {
  let transport: Transport
  /// For errors: `sentinel 10.0.0.1:26379`.
  let server: String

  /// Sends `command` and returns its reply, errors included. `deadline` is on ``Clock/monotonicNanoseconds``.
  ///
  /// Throws ``RedisError/notSent(_:)``.
  func send(_ command: RedisCommand, until deadline: UInt64) throws(RedisError) -> RedisValue {
    var output: [UInt8] = []
    command.write(to: &output)
    guard let reader = ReplyReader() else { throw .notSent("out of memory") }
    // The command is smaller than any socket buffer, so one write is enough.
    guard transport.write(output, from: 0) == .bytes(output.count) else {
      throw .notSent("\(server) closed the connection")
    }
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      switch reader.next() {
      case .value(let value): return value
      case .broken(let reason), .tooLarge(let reason): throw .notSent("\(server): \(reason)")
      case .needsMore: break
      }
      // Also of a server that sends without an end.
      guard Clock.monotonicNanoseconds < deadline else { throw late }
      switch transport.read(into: &buffer) {
      case .bytes(let count): reader.feed(buffer, count: count)
      case .ended: throw .notSent("\(server) closed the connection")
      case .wouldBlock:
        guard Poll.wait(transport.descriptor, for: POLLIN, until: deadline) else { throw late }
      }
    }
  }

  private var late: RedisError { .notSent("\(server) did not answer in time") }
}
