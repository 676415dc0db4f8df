import EventLoop
import Glibc
import Telemetry
import TestSupport
import Testing

@testable import HTTPServer

/// Each test has a server on a free port. Clients are blocking sockets on their own threads.
@EventLoop
struct HTTPServerTests {
  static func echo(_ request: HTTPRequest, _ reply: @escaping @EventLoop (HTTPResponse) -> Void) {
    let head = "\(request.method) \(request.path) \(request.query.map { "\($0.name)=\($0.value)" })"
    reply(.text("\(head) \(request.headers["x-test"] ?? "-") \(request.body.count)."))
  }

  /// Starts a server, runs `client` off the event loop, and stops the server.
  func serving<T: Sendable>(
    _ change: (inout HTTPServerConfiguration) -> Void = { _ in },
    handler: @escaping HTTPServer.Handler = HTTPServerTests.echo,
    client: @escaping @Sendable (Int) throws -> T
  ) async throws -> T {
    var configuration = HTTPServerConfiguration(address: .loopback(port: 0))
    change(&configuration)
    let server = HTTPServer(configuration: configuration, log: .silent, handler: handler)
    try server.start()
    let port = server.port
    let result = try await blocking { Result { try client(port) } }
    await server.stop(grace: .milliseconds(100))
    return try result.get()
  }

  @Test func `a request reaches the handler and its answer comes back`() async throws {
    let answer = try await serving { port in
      let wire = try Wire(port: port)
      wire.send("PUT /a%20b?c=d+e HTTP/1.1\r\nHost: x\r\nx-test: yes\r\nContent-Length: 5\r\n\r\nhello")
      return try wire.read(until: ".")
    }
    #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
    #expect(answer.hasSuffix(#"PUT /a%20b ["c=d e"] yes 5."#))
  }

  @Test func `a request has the address of its connection`() async throws {
    let answer = try await serving(handler: { request, reply in
      reply(.text("from \(request.peer.client)."))
    }) { port in
      let wire = try Wire(port: port)
      wire.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
      return try wire.read(until: "127.0.0.1.")
    }
    #expect(answer.hasSuffix("from 127.0.0.1."))
  }

  @Test(arguments: [("::ffff:192.0.2.1", "192.0.2.1"), ("2001:db8::1", "2001:db8::1"), ("::1", "::1")])
  func `an IPv4 address has IPv4 form on every socket`(address: String, text: String) {
    var name = sockaddr_in6()
    name.sin6_family = sa_family_t(AF_INET6)
    inet_pton(AF_INET6, address, &name.sin6_addr)
    let found = withUnsafePointer(to: &name) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { IPAddress($0)?.text }
    }
    #expect(found == text)
  }

  @Test func `a connection serves requests in order, also pipelined ones`() async throws {
    let answers = try await serving { port in
      let wire = try Wire(port: port)
      wire.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n")
      let first = try wire.read(until: " 0.")
      wire.send("GET /2 HTTP/1.1\r\nHost: x\r\n\r\nGET /3 HTTP/1.1\r\nHost: x\r\n\r\n")
      return first + (try wire.read(until: " 0.", count: 2))
    }
    let order = ["GET /1", "GET /2", "GET /3"].map { answers.firstRange(of: $0)?.lowerBound }
    #expect(order.allSatisfy { $0 != nil })
    #expect(order.compactMap { $0 } == order.compactMap { $0 }.sorted())
  }

  @Test func `a chunked body is joined`() async throws {
    let answer = try await serving { port in
      let wire = try Wire(port: port)
      wire.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n3\r\nefg\r\n0\r\n\r\n")
      return try wire.read(until: " 7.")
    }
    #expect(answer.contains("200 OK"))
  }

  @Test(arguments: [
    "Content-Length: 11\r\n\r\nhello world", "Content-Length: 2000000\r\n\r\n",
    "Transfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n5\r\nghijk\r\n0\r\n\r\n",
  ])
  func `a body over the limit is refused before the handler`(rest: String) async throws {
    let answer = try await serving {
      $0.maximumBodyBytes = 10
      $0.refusal = { status, _ in .json(Array("{\"no\":\(status)}.".utf8), status: status) }
    } handler: { _, _ in
      Issue.record("the handler was called")
    } client: { port in
      let wire = try Wire(port: port)
      wire.send("POST / HTTP/1.1\r\nHost: x\r\n" + rest)
      return try wire.read(until: ".")
    }
    #expect(answer.contains(" 413 "))
    #expect(answer.hasSuffix("{\"no\":413}."))
  }

  @Test func `header fields over the limit are refused`() async throws {
    let answer = try await serving {
      $0.maximumHeaderBytes = 4096
    } client: { port in
      try Wire.answer(
        to: "GET / HTTP/1.1\r\nHost: x\r\nX-Test: " + String(repeating: "a", count: 8000) + "\r\n\r\n", port: port)
    }
    #expect(answer.contains(" 431 "))
  }

  @Test(arguments: ["\u{0}\u{1}\u{2}\u{3}\r\n\r\n", "GET / HTTP/9\r\n\r\n", "GET /?a=%zz HTTP/1.1\r\nHost: x\r\n\r\n"])
  func `after garbage the server still answers`(garbage: String) async throws {
    let answer = try await serving {
      $0.connectionTimeout = 5
    } client: { port in
      do {
        let wire = try Wire(port: port)
        wire.send(garbage)
        _ = try wire.read(until: "\r\n\r\n")
      } catch WireError.ended {
        // The connection was closed, which is allowed too.
      }
      let wire = try Wire(port: port)
      wire.send("GET /alive HTTP/1.1\r\nHost: x\r\n\r\n")
      return try wire.read(until: " 0.")
    }
    #expect(answer.contains("GET /alive"))
  }

  @Test func `an answer may come after the handler has returned`() async throws {
    var timer: LoopTimer?
    let answer = try await serving(handler: { _, reply in
      timer = .after(.milliseconds(5)) {
        reply(.text("late."))
        reply(.text("twice."))
      }
    }) { port in
      let wire = try Wire(port: port)
      wire.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
      let first = try wire.read(until: "late.")
      wire.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
      return first + (try wire.readToEnd())
    }
    #expect(timer != nil)
    #expect(answer.hasSuffix("late.") && !answer.contains("twice"))
  }

  @Test func `the connection of a slow request is closed`() async throws {
    let answer = try await serving {
      $0.connectionTimeout = 1
    } client: { port in
      try Wire.answer(to: "GET / HTTP/1.1\r\nHos", port: port)
    }
    #expect(!answer.contains("200 OK"))
  }

  @Test func `a stop lets a running request finish and takes no new connection`() async throws {
    var pending: (@EventLoop (HTTPResponse) -> Void)?
    let server = HTTPServer(
      configuration: HTTPServerConfiguration(address: .loopback(port: 0)), log: .silent
    ) { _, reply in
      pending = reply
    }
    try server.start()
    let port = server.port
    async let answer = blocking {
      try Wire.answer(to: "GET / HTTP/1.1\r\nHost: x\r\n\r\n", port: port)
    }
    while pending == nil { await Task.yield() }
    var isStopped = false
    server.stop { isStopped = true }
    let refused = try await blocking {
      do {
        _ = try Wire(port: port)
        return false
      } catch {
        return true
      }
    }
    #expect(refused)
    #expect(!isStopped)
    pending?(.text("done."))
    let text = try await answer
    #expect(text.contains("Connection: close") || text.contains("Connection: Close"))
    #expect(text.hasSuffix("done."))
    while !isStopped { await Task.yield() }
  }

  @Test func `a request that is not answered within the grace period gets 503`() async throws {
    let server = HTTPServer(
      configuration: HTTPServerConfiguration(address: .loopback(port: 0)), log: .silent
    ) { _, _ in }
    try server.start()
    let port = server.port
    async let answer = blocking {
      try Wire.answer(to: "GET / HTTP/1.1\r\nHost: x\r\n\r\n", port: port)
    }
    while server.requestsUnderWay == 0 { await Task.yield() }
    await server.stop(grace: .milliseconds(10))
    #expect(try await answer.contains(" 503 "))
  }

  @Test func `a second stop without a grace time ends the wait of the first one`() async throws {
    let server = HTTPServer(
      configuration: HTTPServerConfiguration(address: .loopback(port: 0)), log: .silent
    ) { _, _ in }
    try server.start()
    let port = server.port
    async let answer = blocking {
      try Wire.answer(to: "GET / HTTP/1.1\r\nHost: x\r\n\r\n", port: port)
    }
    while server.requestsUnderWay == 0 { await Task.yield() }
    var isStopped = false
    server.stop(grace: .seconds(3600)) { isStopped = true }
    await server.stop(grace: .zero)
    #expect(isStopped)
    #expect(try await answer.contains(" 503 "))
  }

  @Test func `an address in use is reported as an error`() async throws {
    try await serving { port in
      let error = #expect(throws: HTTPServerError.self) { try ListeningSocket(.tcp(host: "127.0.0.1", port: port)) }
      #expect(error?.description.contains("127.0.0.1:\(port)") == true)
    }
  }

  @Test func `a released server closes its connections`() async throws {
    var server: HTTPServer? = HTTPServer(
      configuration: HTTPServerConfiguration(address: .loopback(port: 0)), log: .silent
    ) { _, _ in }
    try server?.start()
    let port = try #require(server?.port)
    async let answer = blocking {
      try Wire.answer(to: "GET / HTTP/1.1\r\nHost: x\r\n\r\n", port: port)
    }
    while server?.requestsUnderWay == 0 { await Task.yield() }
    server = nil
    #expect(!(try await answer.contains("200")))
  }

  @Test func `a unix socket is served, and its file is removed at the end`() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/http.sock"
    let server = HTTPServer(
      configuration: HTTPServerConfiguration(address: .unix(path: path)), log: .silent
    ) { request, reply in
      #expect(request.peer.ip == nil)
      Self.echo(request, reply)
    }
    try server.start()
    var status = stat()
    #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o660)
    let answer = try await ChildProcess.run("curl", ["-sS", "--unix-socket", path, "http://x/hello"])
    #expect(answer.contains("GET /hello"))
    await server.stop()
    #expect(access(path, F_OK) != 0)
  }
}
