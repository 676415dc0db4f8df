import EventLoop
import HTTPServer
import Telemetry
import TestSupport
import Testing

/// What proxies, slow clients and crowds do.
extension HTTPServerTests {
  @Test(arguments: [
    "Content-Length: 5\r\nContent-Length: 4", "Content-Length: 4\r\nContent-Length: 5",
    "Content-Length: 4\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 4",
    "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: identity\r\nContent-Length: 5",
    "Transfer-Encoding: xchunked", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
  ])
  func `a body whose end can be read in two ways is refused, and nothing after it is read`(framing: String) async throws
  {
    let answer = try await serving(handler: { _, _ in
      Issue.record("the handler was called")
    }) { port in
      let body = "5\r\nhello\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
      return try Wire.answer(to: "POST / HTTP/1.1\r\nHost: x\r\n\(framing)\r\n\r\n\(body)", port: port)
    }
    #expect(answer.hasPrefix("HTTP/1.1 400 "))
    #expect(answer.hasSuffix("bad request\n"))
  }

  @Test func `a length that is told twice alike is one length`() async throws {
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

  @Test func `who asks before sending a body that is too large need not send it`() async throws {
    let answer = try await serving {
      $0.maximumBodyBytes = 10
    } client: { port in
      try Wire.answer(
        to: "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n", port: port)
    }
    #expect(answer.hasPrefix("HTTP/1.1 413 "))
  }

  @Test func `a stop does not wait for requests that never arrive whole`() async throws {
    let server = HTTPServer(
      configuration: HTTPServerConfiguration(address: .tcp(host: "127.0.0.1", port: 0)), log: .silent,
      handler: Self.echo)
    try server.start()
    let port = server.port
    async let answer = blocking {
      try Wire.answer(to: "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhel", port: port)
    }
    while server.requestsUnderWay == 0 { await Task.yield() }
    server.stop(grace: .seconds(600)) {}
    // Cut off; the client gives up after ten seconds.
    #expect(try await answer == "")
  }

  @Test func `when the house is nearly full, who waits the longest makes room`() async throws {
    let limit = 10
    let last = try await serving {
      $0.maximumConnections = limit
    } client: { port in
      let idle = try (0..<limit).map { _ in Guest(try Wire(port: port)) }
      for guest in idle {
        guest.wire.send("GET /idle HTTP/1.1\r\nHost: x\r\n\r\n")
        _ = try guest.wire.read(until: " 0.")
      }
      // Not taken in before one of them is gone.
      let late = try Wire(port: port)
      late.send("GET /late HTTP/1.1\r\nHost: x\r\n\r\n")
      let answer = try late.read(until: " 0.")
      #expect(try idle[0].wire.readToEnd() == "")
      return answer
    }
    #expect(last.contains("GET /late"))
  }

  private final class Guest {
    let wire: Wire

    init(_ wire: consuming Wire) { self.wire = wire }
  }
}
