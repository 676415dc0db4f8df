import EventLoop
import TestSupport
import Testing

@testable import HTTPServer

/// Bodies that are not read, and clients that send much and finish nothing.
extension HTTPServerTests {
  @Test func `a request whose body is not needed is answered by its head`() async throws {
    let answer = try await serving {
      $0.needsBody = { $0.path == "/needed" }
    } client: { port in
      // The body never comes.
      try Wire.answer(to: "POST /other HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n", port: port)
        + Wire.answer(to: "PUT /chunks HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", port: port)
        + Wire.answer(
          to: "PUT /asks HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n", port: port)
    }
    #expect(answer.ranges(of: "HTTP/1.1 200 OK").count == 3)
    #expect(answer.ranges(of: "Connection: close").count == 3)
    for text in ["POST /other [] - 0.", "PUT /chunks [] - 0.", "PUT /asks [] - 0."] { #expect(answer.contains(text)) }
    #expect(!answer.contains("100 Continue"))
  }

  @Test func `an answer by the head may come later, and reaches a client that still sends`() async throws {
    var timer: LoopTimer?
    let answer = try await serving {
      $0.needsBody = { _ in false }
    } handler: { _, reply in
      timer = .after(.milliseconds(5)) { reply(.text("late.")) }
    } client: { port in
      let wire = try Wire(port: port)
      wire.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 65000\r\n\r\n")
      wire.send(String(repeating: "a", count: 65_000))
      return try wire.readToEnd()
    }
    #expect(timer != nil)
    #expect(answer.hasSuffix("late."))
  }

  @Test func `a body that is needed is read, and the connection stays`() async throws {
    let answer = try await serving {
      $0.needsBody = { $0.headers["x-test"] == "yes" }
    } client: { port in
      let wire = try Wire(port: port)
      wire.send("POST /1 HTTP/1.1\r\nHost: x\r\nX-Test: yes\r\nContent-Length: 5\r\n\r\nhello")
      let first = try wire.read(until: " 5.")
      wire.send("GET /2 HTTP/1.1\r\nHost: x\r\n\r\n")
      return first + (try wire.read(until: " 0."))
    }
    #expect(answer.contains("POST /1 [] yes 5.") && answer.contains("GET /2"))
  }

  @Test(arguments: [
    "Content-Length: 9223372036854775807", "Content-Length: 9223372036854775808",
    "Content-Length: 18446744073709551614",
    "Content-Length: 18446744073709551615", "Content-Length: 18446744073709551616", "Content-Length: 65537",
    "Content-Length: 1048576",
  ])
  func `a length over the limit is refused at once`(field: String) async throws {
    let answer = try await serving(handler: { _, _ in
      Issue.record("the handler was called")
    }) { port in
      try Wire.answer(to: "POST / HTTP/1.1\r\nHost: x\r\n\(field)\r\n\r\n", port: port)
    }
    #expect(answer.hasPrefix("HTTP/1.1 413 "), "\(answer)")
  }

  @Test func `a route has a limit of its own`() async throws {
    let answers = try await serving {
      $0.largerBodyLimit = { $0.path == "/large" ? 100_000 : nil }
    } client: { port in
      try [("/large", 100_000), ("/large", 100_001), ("/other", 65_536), ("/other", 65_537)].flatMap { path, count in
        let body = String(repeating: "a", count: count)
        let heads = [
          "Content-Length: \(count)\r\n\r\n\(body)",
          "Transfer-Encoding: chunked\r\n\r\n\(String(count, radix: 16))\r\n\(body)\r\n0\r\n\r\n",
        ]
        return try heads.map { head in
          let wire = try Wire(port: port)
          wire.send("POST \(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\(head)")
          return try wire.readToEnd()
        }
      }
    }
    #expect(answers.map { $0.contains(" 200 OK") } == [true, true, false, false, true, true, false, false])
    #expect(answers.map { $0.contains(" 413 ") } == [false, false, true, true, false, false, true, true])
    #expect(answers[0].hasSuffix(" 100000."))
  }

  @Test func `a large body that does not come takes no more memory than a small one`() async throws {
    let answers = try await serving {
      $0.largerBodyLimit = { _ in 1 << 20 }
      $0.budget.bytes = 4 << 20
    } client: { port in
      let crowd = try (0..<20).map { _ in Guest(try Wire(port: port)) }
      for guest in crowd { guest.wire.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\n\r\na") }
      // Each is still there, and one after the other is served.
      return try crowd.map { guest in
        guest.wire.send(String(repeating: "a", count: 1_048_575))
        return try guest.wire.read(until: " 1048576.")
      }
    }
    #expect(answers.count == 20)
  }

  @Test(arguments: ["Content-Length: 1", "Transfer-Encoding: chunked"])
  func `a server without bodies refuses them`(field: String) async throws {
    let answer = try await serving {
      $0.maximumBodyBytes = 0
    } client: { port in
      try Wire.answer(to: "POST / HTTP/1.1\r\nHost: x\r\n\(field)\r\n\r\n", port: port)
        + Wire.answer(to: "GET /none HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", port: port)
    }
    #expect(answer.hasPrefix("HTTP/1.1 413 "))
    #expect(answer.contains("GET /none"))
  }

  @Test(arguments: [
    "5\nhello\r\n0\r\n\r\n", "5;a=b\nhello\r\n0\r\n\r\n", "5\r\nhello\n5\r\nhello\r\n0\r\n\r\n",
    "5\r\nhello\r\n5\nhello\r\n0\r\n\r\n", "5\r\nhello\r\n\n0\r\n\r\n", "5\r\nhelloo\r\n0\r\n\r\n",
    "x\r\nhello\r\n0\r\n\r\n",
  ])
  func `a bare LF before the data of a chunk is refused, and nothing after it is read`(chunks: String) async throws {
    let answer = try await serving(handler: { _, _ in
      Issue.record("the handler was called")
    }) { port in
      try Wire.answer(
        to:
          "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)GET /2 HTTP/1.1\r\nHost: x\r\n\r\n",
        port: port)
    }
    #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
  }

  @Test(arguments: ["FFFFFFFFFFFFFFFF", "7fffffffffffffff", "8000000000000000", "10001", "FFFFFFFFFFFFFFFFF"])
  func `a chunk over the limit is refused at once`(size: String) async throws {
    let answer = try await serving(handler: { _, _ in
      Issue.record("the handler was called")
    }) { port in
      try Wire.answer(
        to: "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n\(size)\r\nhello", port: port
      )
    }
    #expect(answer.hasPrefix("HTTP/1.1 413 "), "\(answer)")
  }

  @Test(arguments: [
    "5\r\nhello\r\n0\r\n\r\n", "2;a=\"b\"\r\nhe\r\n0003\r\nllo\r\n0\r\n\r\n", "5\r\n\n\n0\n\n\r\n000;x\r\n\r\n",
    "1\r\n\r\r\n4\r\n\n\r\n\n\r\n0\r\nX-Trailer: a\r\n\r\n",
  ])
  func `well-formed chunks are read, at once and byte by byte`(chunks: String) async throws {
    let answer = try await serving { port in
      let wire = try Wire(port: port)
      let head = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      wire.send(head + chunks)
      let first = try wire.read(until: " 5.")
      for byte in (head + chunks).unicodeScalars { wire.send(String(byte)) }
      return first + (try wire.read(until: " 5."))
    }
    #expect(answer.ranges(of: "200 OK").count == 2)
  }

  @Test func `bodies that never end are closed beyond the budget, and a small request is served`() async throws {
    let held = 64
    let answer = try await serving {
      $0.budget.bytes = 2 << 20
    } client: { port in
      let crowd = try (0..<held).map { _ in Guest(try Wire(port: port, from: "127.0.0.2")) }
      for guest in crowd {
        guest.wire.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 65000\r\n\r\n")
        guest.wire.send(String(repeating: "a", count: 64_900))
      }
      let victim = try Wire(port: port)
      victim.send("POST /victim HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n")
      victim.send(String(repeating: "a", count: 500))
      let answer = try victim.read(until: " 500.")
      #expect(try crowd[0].wire.readToEnd() == "")
      return answer
    }
    #expect(answer.contains("POST /victim"))
  }

  @Test func `heads that never end are closed beyond the share of an address, unless it is a proxy's`() async throws {
    let share = 5
    for isProxy in [false, true] {
      let (answer, served) = try await serving {
        $0.budget.requestsOfClient = share
        if isProxy { _ = $0.trustedProxies.add("127.0.0.0/8") }
      } client: { port in
        let crowd = try (0..<2 * share).map { _ in Guest(try Wire(port: port)) }
        for guest in crowd { guest.wire.send("GET / HTTP/1.1\r\nHost: x\r\n") }
        let late = try Wire(port: port)
        late.send("GET /late HTTP/1.1\r\nHost: x\r\n\r\n")
        let answer = try late.read(until: " 0.")
        // The server reads those that are ready at once in any order.
        let served = crowd.count { guest in
          guest.wire.send("Connection: close\r\n\r\n")
          return (try? guest.wire.readToEnd())?.contains("GET / ") == true
        }
        return (answer, served)
      }
      #expect(answer.contains("GET /late"))
      #expect(isProxy ? served == 2 * share : (1...share).contains(served), "\(served)")
    }
  }

  private final class Guest {
    let wire: Wire

    init(_ wire: consuming Wire) { self.wire = wire }
  }
}
