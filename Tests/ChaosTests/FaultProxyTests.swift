import EventLoop
import Glibc
import TestSupport
import Testing

@testable import Chaos

/// Against a real redis-server.
@EventLoop
struct FaultProxyTests {
  private static let server = Task { try await RedisServer(tcp: true) }

  private func proxy() async throws -> FaultProxy {
    let port = try await Self.server.value.port
    return try FaultProxy { port }
  }

  private func ask(_ request: String, _ proxy: FaultProxy) async throws -> String {
    let port = proxy.port
    return try await blocking { try Wire.answer(to: request, port: port) }
  }

  @Test func `bytes are forwarded in both directions, and the end too`() async throws {
    let proxy = try await proxy()
    defer { proxy.close() }
    var ports: [Int] = []
    proxy.onConnect = { ports.append($0) }
    #expect(try await ask("PING\r\nECHO hello\r\nQUIT\r\n", proxy) == "+PONG\r\n$5\r\nhello\r\n+OK\r\n")
    #expect(ports.count == 1)
    try await eventually("the connection is closed") { proxy.count == 0 }
  }

  @Test func `large replies arrive whole`() async throws {
    let proxy = try await proxy()
    defer { proxy.close() }
    try await Self.server.value.redisCLI("SETRANGE", "large", "9999999", "x")
    let answer = try await ask("GET large\r\nQUIT\r\n", proxy)
    #expect(answer.utf8.count == "$10000000\r\n".utf8.count + 10_000_000 + "\r\n+OK\r\n".utf8.count)
  }

  @Test func `delayed bytes arrive later and in order`() async throws {
    let proxy = try await proxy()
    defer { proxy.close() }
    proxy.set(.delay(.milliseconds(100)))
    let started = ContinuousClock.now
    #expect(try await ask("PING\r\nECHO a\r\nQUIT\r\n", proxy) == "+PONG\r\n$1\r\na\r\n+OK\r\n")
    // To the server and back.
    #expect(ContinuousClock.now - started >= .milliseconds(200))
  }

  /// The server closes the connection although it has not read everything, which resets it.
  @Test(arguments: [ProxyMode.forward, .delay(.milliseconds(100))])
  func `what a server has sent before it ended the connection arrives`(mode: ProxyMode) async throws {
    let proxy = try await proxy()
    defer { proxy.close() }
    proxy.set(mode)
    let unread = String(repeating: "x", count: 1 << 20)
    #expect(try await ask("PING\r\nQUIT\r\n\(unread)", proxy) == "+PONG\r\n+OK\r\n")
    try await eventually("the connection is closed") { proxy.count == 0 }
  }

  @Test(arguments: [ProxyMode.forward, .delay(.milliseconds(100))])
  func `answers arrive after the client has ended its direction`(mode: ProxyMode) async throws {
    let proxy = try await proxy()
    defer { proxy.close() }
    proxy.set(mode)
    let client = try #require(LoopbackSocket.connecting(to: proxy.port))
    defer { Glibc.close(client) }
    let request = "PING\r\n"
    #expect(send(client, request, request.utf8.count, Int32(MSG_NOSIGNAL)) == request.utf8.count)
    shutdown(client, Int32(SHUT_WR))
    var answer: [UInt8] = []
    try await eventually("the answer has ended") {
      var chunk = [UInt8](repeating: 0, count: 64)
      let count = recv(client, &chunk, chunk.count, 0)
      if count > 0 { answer += chunk[..<count] }
      return count == 0
    }
    #expect(answer == Array("+PONG\r\n".utf8))
    try await eventually("the connection is closed") { proxy.count == 0 }
  }

  @Test func `a connection is cut`() async throws {
    let proxy = try await proxy()
    defer { proxy.close() }
    let waiting = Task { try await ask("BLPOP nothing 0\r\n", proxy) }
    try await eventually("the connection is open") { proxy.count == 1 }
    proxy.cut()
    #expect(try await waiting.value == "")
    #expect(proxy.count == 0)
  }

  @Test func `new connections are refused`() async throws {
    let proxy = try await proxy()
    defer { proxy.close() }
    proxy.set(.refuse)
    #expect(try await ask("PING\r\n", proxy) == "")
    proxy.set(.forward)
    #expect(try await ask("PING\r\nQUIT\r\n", proxy) == "+PONG\r\n+OK\r\n")
  }

  @Test func `a half-open connection stays open and silent, and is closed when the fault ends`() async throws {
    let proxy = try await proxy()
    defer { proxy.close() }
    proxy.set(.swallow)
    let waiting = Task { try await ask("SET swallowed 1\r\n", proxy) }
    try await eventually("the connection is deaf") { proxy.deafCount == 1 }
    #expect(try await Self.server.value.redisCLI("EXISTS", "swallowed") == "0")
    proxy.set(.forward)
    #expect(try await waiting.value == "")
    #expect(try await Self.server.value.redisCLI("EXISTS", "swallowed") == "0")
  }
}
