import EventLoop
import Glibc
import TestSupport
import Testing

@testable import Redis
import RedisSupport

/// Servers that do not do what a server does.
@EventLoop
struct HostileServerTests {
  @Test(arguments: ["MOVED", "ASK"])
  func `a redirection of a server that no cluster was named for has its fix`(code: String) async throws {
    let server = try FakeRedis { _, words in FakeRedis.greeting(words) ?? "-\(code) 1 a:1\r\n" }
    let connection = try await RedisConnection.ready(server.url)
    let error = await #expect(throws: RedisError.self) { try await connection.send(RedisCommand("GET", "k")) }
    #expect(
      error?.description == "\(code) 1 a:1: the server belongs to a cluster; write redis+cluster:// in REDIS_URL")
  }

  @Test(arguments: ["MOVED", "ASK"])
  func `a command that servers of a cluster send in a circle ends with what is wrong`(code: String) async throws {
    let port = try freePort()
    let server = try FakeRedis(port: port) { _, words in
      switch words[0] {
      case "CLUSTER": "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:\(port)\r\n"
      case "GET": "-\(code) \(HashSlot.of("k")) 127.0.0.1:\(port)\r\n"
      case "ASKING": "+OK\r\n"
      default: FakeRedis.greeting(words) ?? "-ERR no\r\n"
      }
    }
    let url = "redis+cluster://127.0.0.1:\(port)"
    let client = try await RedisClient.connected(to: url)
    let error = await #expect(throws: RedisError.self) { try await client.send(RedisCommand("GET", "k")) }
    #expect(error?.description.contains("the servers of the cluster do not agree where the slot is") == true)
    client.close()
    withExtendedLifetime(server) {}
  }

  @Test func `a server that sends without an end is not read beyond the deadline`() async throws {
    var ends: [Int32] = [0, 0]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
    let (near, far) = (ends[0], ends[1])
    _ = fcntl(near, F_SETFL, O_NONBLOCK)
    async let sent: Void = blocking {
      HostileServerTests.send(256 << 20, to: far)
      close(far)
    }
    let error = try await blocking {
      let exchange = BlockingExchange(transport: Transport(descriptor: near), server: "sentinel a:1")
      let deadline = Clock.monotonicNanoseconds + 1_000_000
      do throws(RedisError) {
        _ = try exchange.send(RedisCommand("PING"), until: deadline)
        return nil as RedisError?
      } catch {
        return error
      }
    }
    #expect(error == .notSent("sentinel a:1 did not answer in time"))
    try await sent
  }

  /// Sends a reply of `count` bytes that is not complete then.
  private nonisolated static func send(_ count: Int, to descriptor: Int32) {
    var left = count
    var bytes = Array("$\(2 * count)\r\n".utf8) + [UInt8](repeating: 0, count: 1 << 20)
    while left > 0 {
      let sent = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
      guard sent > 0 else { return }
      left -= sent
      bytes = [UInt8](repeating: 0, count: 1 << 20)
    }
  }
}
