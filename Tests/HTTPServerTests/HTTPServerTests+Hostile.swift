import EventLoop
import Telemetry
import TestSupport
import Testing

@testable import HTTPServer

/// Ambiguous requests, slow clients and many connections.
extension HTTPServerTests {
  @Test(arguments: [
    "Content-Length: 5\r\nContent-Length: 4", "Content-Length: 4\r\nContent-Length: 5",
    "Content-Length: 4\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 4",
    "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: identity\r\nContent-Length: 5",
    "Transfer-Encoding: xchunked", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
  ])
  func `a body with an ambiguous end is refused, and nothing after it is read`(framing: String) async throws {
    let answer = try await serving(handler: { _, _ in
      Issue.record("the handler was called")
    }) { port in
      let body = "5\r\nhello\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
      return try Wire.answer(to: "POST / HTTP/1.1\r\nHost: x\r\n\(framing)\r\n\r\n\(body)", port: port)
    }
    #expect(answer.hasPrefix("HTTP/1.1 400 "))
    #expect(answer.hasSuffix("bad request\n"))
  }

  @Test func `a repeated length with the same value is accepted`() async throws {
    let answer = try await serving { port in
      let wire = try Wire(port: port)
      wire.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello")
      return try wire.read(until: " 5.")
    }
    #expect(answer.contains("200 OK"))
  }

  @Test func `a request in the form for proxies is served`() async throws {
    let answer = try await serving { port in
      let wire = try Wire(port: port)
      wire.send("GET http://x:80/devices?a=b HTTP/1.1\r\nHost: x\r\n\r\n")
      return try wire.read(until: " 0.")
    }
    #expect(answer.contains(#"GET /devices ["a=b"]"#))
  }

  @Test func `a client that expects 100 is refused before it sends a body that is too large`() async throws {
    let answer = try await serving {
      $0.maximumBodyBytes = 10
    } client: { port in
      try Wire.answer(
        to: "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n", port: port)
    }
    #expect(answer.hasPrefix("HTTP/1.1 413 "))
  }

  @Test func `a stop does not wait for incomplete requests`() async throws {
    let server = HTTPServer(
      configuration: HTTPServerConfiguration(address: .loopback(port: 0)), log: .silent,
      handler: Self.echo)
    try server.start()
    let port = server.port
    async let answer = blocking {
      try Wire.answer(to: "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhel", port: port)
    }
    while server.requestsUnderWay == 0 { await Task.yield() }
    server.stop(grace: .seconds(3600)) {}
    // The connection was closed: the client would wait longer than the grace time.
    #expect(try await answer == "")
  }

  @Test(arguments: ["5;\(String(repeating: "a", count: 40_000))", String(repeating: "0", count: 40_000)])
  func `a chunk's size line without end does not keep the connection or the loop busy`(line: String) async throws {
    let server = HTTPServer(
      configuration: HTTPServerConfiguration(address: .loopback(port: 0)), log: .silent,
      handler: Self.echo)
    try server.start()
    let port = server.port
    let answer = try await blocking {
      try Wire.answer(to: "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n\(line)", port: port)
    }
    #expect(answer == "")
    #expect(server.runs < 10_000)
    await server.stop()
  }

  @Test func `when the server is nearly full, the longest waiting connection is closed`() async throws {
    let limit = 10
    let last = try await serving {
      $0.maximumConnections = limit
    } client: { port in
      let idle = try (0..<limit).map { _ in Guest(try Wire(port: port)) }
      for guest in idle {
        guest.wire.send("GET /idle HTTP/1.1\r\nHost: x\r\n\r\n")
        _ = try guest.wire.read(until: " 0.")
      }
      // Accepted only after another connection is closed.
      let late = try Wire(port: port)
      late.send("GET /late HTTP/1.1\r\nHost: x\r\n\r\n")
      let answer = try late.read(until: " 0.")
      #expect(try idle[0].wire.readToEnd() == "")
      return answer
    }
    #expect(last.contains("GET /late"))
  }

  @Test func `many connections from one address do not close that of another`() async throws {
    let limit = 20
    let answer = try await serving {
      $0.maximumConnections = limit
    } client: { port in
      let first = try Wire(port: port, from: "127.0.0.2")
      first.send("GET /first HTTP/1.1\r\nHost: x\r\n\r\n")
      _ = try first.read(until: " 0.")
      var crowd: [Guest] = []
      for _ in 1..<limit {
        let guest = Guest(try Wire(port: port))
        guest.wire.send("GET /idle HTTP/1.1\r\nHost: x\r\n\r\n")
        _ = try guest.wire.read(until: " 0.")
        crowd.append(guest)
      }
      #expect(try crowd[0].wire.readToEnd() == "")
      first.send("GET /again HTTP/1.1\r\nHost: x\r\n\r\n")
      return try first.read(until: " 0.")
    }
    #expect(answer.contains("GET /again"))
  }

  private final class Guest {
    let wire: Wire

    init(_ wire: consuming Wire) { self.wire = wire }
  }
}
