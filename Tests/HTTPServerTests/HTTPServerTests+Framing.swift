import HTTPServer
import TestSupport
import Testing

/// Requests that a proxy may read differently.
extension HTTPServerTests {
  /// Heads without the empty line, each with its fault.
  nonisolated private static let malformedHeads: [(fault: String, head: String)] = [
    ("a space before the colon", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length : 2\r\n"),
    ("a tab before the colon", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length\t: 2\r\n"),
    (
      "a space before the colon of one of two",
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding : chunked\r\n"
    ),
    ("a folded field", "GET / HTTP/1.1\r\nHost: x\r\nX-Test: a\r\n b\r\n"),
    ("a field folded with a tab", "GET / HTTP/1.1\r\nHost: x\r\nX-Test: a\r\n\tb\r\n"),
    ("a folded first field", "GET / HTTP/1.1\r\n Host: x\r\nHost: x\r\n"),
    ("a fold that hides a length", "POST / HTTP/1.1\r\nHost: x\r\nX-Test: a\r\n Content-Length: 2\r\n"),
    ("a fold after the last field", "GET / HTTP/1.1\r\nHost: x\r\n \r\n"),
    ("NUL in a value", "GET / HTTP/1.1\r\nHost: x\r\nX-Test: a\0b\r\n"),
    ("NUL at a value's end", "GET / HTTP/1.1\r\nHost: x\r\nX-Test: a\0\r\n"),
    ("two NULs at a value's end", "GET / HTTP/1.1\r\nX-Test: a\0\0\r\nHost: x\r\n"),
    ("NULs that look like a line end", "GET / HTTP/1.1\r\nHost: x\r\nX-Test: a\0\0X-Other: b\r\n"),
    ("NUL at a line's start", "GET / HTTP/1.1\r\nHost: x\r\n\0X-Test: a\r\n"),
    ("NUL for a line", "GET / HTTP/1.1\r\nHost: x\r\n\0\r\n"),
    ("NUL in the target", "GET /\0a HTTP/1.1\r\nHost: x\r\n"),
    ("NUL in the method", "GE\0T / HTTP/1.1\r\nHost: x\r\n"),
    ("a bare LF after the request line", "GET / HTTP/1.1\nHost: x\r\n"),
    ("a bare LF after a field", "GET / HTTP/1.1\r\nHost: x\nX-Test: a\r\n"),
    ("a bare LF after the last field", "GET / HTTP/1.1\r\nHost: x\r\nX-Test: a\n"),
    ("bare LFs throughout", "GET / HTTP/1.1\nHost: x\nX-Test: a\n"),
    ("a bare CR in a value", "GET / HTTP/1.1\r\nHost: x\r\nX-Test: a\rb\r\n"),
    ("a bare CR before the line end", "GET / HTTP/1.1\r\nHost: x\r\nX-Test: a\r\r\n"),
    ("another control character in a value", "GET / HTTP/1.1\r\nHost: x\r\nX-Test: a\u{1}\r\n"),
    ("no Host", "GET / HTTP/1.1\r\nX-Test: a\r\n"),
    ("no fields", "GET / HTTP/1.1\r\n"),
    ("two Hosts", "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n"),
    ("the same Host twice", "GET / HTTP/1.1\r\nHost: x\r\nhost: x\r\n"),
    ("two Hosts in HTTP/1.0", "GET / HTTP/1.0\r\nHost: x\r\nHost: y\r\n"),
    ("a Host that is not a host", "GET / HTTP/1.1\r\nHost: x y\r\n"),
    ("a Host with a path", "GET / HTTP/1.1\r\nHost: x/y\r\n"),
    ("a space in the target", "GET /a b HTTP/1.1\r\nHost: x\r\n"),
    ("two spaces before the target", "GET  / HTTP/1.1\r\nHost: x\r\n"),
    ("two spaces behind the target", "GET /  HTTP/1.1\r\nHost: x\r\n"),
    ("a tab in the target", "GET /\ta HTTP/1.1\r\nHost: x\r\n"),
    ("a method that is not a token", "G(T / HTTP/1.1\r\nHost: x\r\n"),
    ("a name that is not a token", "GET / HTTP/1.1\r\nHost: x\r\nX(Test): a\r\n"),
    ("an empty name", "GET / HTTP/1.1\r\nHost: x\r\n: a\r\n"),
    ("chunks in HTTP/1.0", "POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"),
    ("a space behind chunked", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked \r\n"),
    ("a form feed before chunked", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: \u{C}chunked\r\n"),
  ]

  @Test(arguments: malformedHeads)
  func `a malformed head is refused, and nothing after it is read`(fault: String, head: String) async throws {
    let answer = try await serving {
      $0.refusal = { status, _ in .json(Array("{\"no\":\(status)}".utf8), status: status) }
    } handler: { request, _ in
      Issue.record("the handler was called for \(request.path)")
    } client: { port in
      try Wire.answer(to: head + "\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n", port: port)
    }
    #expect(answer.hasPrefix("HTTP/1.1 400 ") || answer.hasPrefix("HTTP/1.0 400 "), "\(fault): \(answer)")
    #expect(!answer.dropFirst(5).contains("HTTP/1."), "\(fault): \(answer)")
    #expect(answer.contains("{\"no\":400"), "\(fault): \(answer)")
  }

  /// Heads that the daemon answers itself, without the empty line.
  nonisolated private static let unparsedHeads: [(head: String, status: Int)] = {
    let lengths = [
      "+2", "-1", "2 ", "2\t", "2, 2", "0, 2", "0x2", "", " ", "2a", "2.0", "1e1", "\u{663}", "2\0", "\0", "2;",
      "\"2\"", "2 2",
    ]
    let large = ["18446744073709551616", "18446744073709551617", "99999999999999999999", "9223372036854775808"]
    let heads = [
      ("GET / HTTP/1.1\r\nHost: x\r\nX-\0Test: a\r\n", 400), ("GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n", 400),
      ("GET / HTTP/1.1\r\nno colon\r\nHost: x\r\n", 400), ("HEAD / HTTP/1.1\r\nHost: x\r\nno colon\r\n", 400),
      ("GET / HTTP/1.1\0\r\nHost: x\r\n", 400), ("GET / HTTP/2.0\r\nHost: x\r\n", 505),
      ("GET / HTTP/0.9\r\nHost: x\r\n", 505), ("GET / HTTP/1\r\nHost: x\r\n", 400),
      ("GET / http/1.1\r\nHost: x\r\n", 400),
      ("GET /\r\nHost: x\r\n", 400),
      ("HEAD / HTTP/1.1\r\nHost: x\r\nContent-Length: +2\r\n", 400),
      ("POST / HTTP/1.0\r\nContent-Length: 0x2\r\n", 400),
      ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +2\r\nContent-Length: 2\r\n", 400),
      ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: +2\r\n", 400),
      ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +2\r\nTransfer-Encoding: chunked\r\n", 400),
      ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +2\r\nExpect: 100-continue\r\n", 400),
      ("POST / HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\nContent-Length: +2\r\n", 400),
    ]
    let cookie = "a=b;" + String(repeating: "c", count: 13_000)
    return heads + lengths.map { ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: \($0)\r\n", 400) }
      + large.map { ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: \($0)\r\n", 413) }
      + [("", 431), ("Content-Length: +2\r\n", 400)].map {
        ("POST / HTTP/1.1\r\nHost: x\r\n\($0)Cookie: \(cookie)\r\nX: \(cookie)\r\n", $1)
      }
  }()

  @Test(arguments: unparsedHeads, [false, true])
  func `a head that the daemon cannot parse gets one answer, and nothing after it is read`(
    of: (head: String, status: Int), inPieces: Bool
  ) async throws {
    let answer = try await serving(handler: { request, _ in
      Issue.record("the handler was called for \(request.path)")
    }) { port in
      let wire = try Wire(port: port)
      // CR LF is one character.
      for piece in inPieces ? of.head.split(separator: "\r\n").map({ $0 + "\r\n" }) : [of.head] { wire.send(piece) }
      wire.send("\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n")
      return try wire.readToEnd()
    }
    let end = try #require(answer.firstRange(of: "\r\n\r\n"), "\(of.head.prefix(200)): \(answer)")
    let (fields, body) = (answer[..<end.lowerBound], answer[end.upperBound...])
    #expect(fields.hasPrefix("HTTP/1.1 \(of.status) "), "\(of.head.prefix(200)): \(answer)")
    #expect(!answer.dropFirst().contains("HTTP/1."), "\(of.head.prefix(200)): \(answer)")
    #expect(fields.contains("Connection: close"), "\(of.head.prefix(200)): \(answer)")
    let length = fields.firstMatch(of: /Content-Length: ([0-9]+)/).flatMap { Int($0.1) }
    #expect(body.utf8.count == (of.head.hasPrefix("HEAD") ? 0 : length), "\(of.head.prefix(200)): \(answer)")
  }

  @Test(arguments: [
    "GET / HTTP/1.0\r\n", "GET / HTTP/1.0\r\nHost: x\r\n", "GET / HTTP/1.1\r\nhost:\r\n",
    "GET / HTTP/1.1\r\nHost:x\r\n", "GET / HTTP/1.1\r\nHost: \t [::1]:80\r\n",
    "GET / HTTP/1.1\r\nHost: x\r\nX-Other: é \t\u{FF}\r\nX-Empty:\r\nX-Blank:  \r\n",
    "GET / HTTP/1.1\r\nHost: x\r\nCookie: a=b; c=\"d\"\r\nX-Colon: a:b: c\r\n",
    "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n", "GET /a=b&c?d=e&f=%20#g HTTP/1.1\r\nHost: x\r\n",
    "GET /é?é HTTP/1.1\r\nHost: x\r\n", "GET /? HTTP/1.1\r\nHost: x\r\n", "GET /%2e%00/?? HTTP/1.1\r\nHost: x\r\n",
  ])
  func `a well-formed head is served`(head: String) async throws {
    let answer = try await serving { port in
      let wire = try Wire(port: port)
      wire.send(head + "Connection: close\r\nX-Test: last\r\n\r\n")
      return try wire.readToEnd()
    }
    #expect(answer.contains("200 OK"), "\(answer)")
    #expect(answer.hasSuffix(" last 0."))
  }

  @Test func `a head is read correctly in several packets, and after another request`() async throws {
    let answer = try await serving { port in
      let wire = try Wire(port: port)
      for end in ["x", ""] {
        for byte in "GET /a?b=c HTTP/1.1\r\nHost: \(end)\r\nX-Test: yes\r\n\r\n" { wire.send(String(byte)) }
      }
      return try wire.read(until: #"GET /a ["b=c"] yes 0."#, count: 2)
    }
    #expect(answer.contains("200 OK"))
  }

  @Test(arguments: [(100, 200), (101, 431), (200, 431)])
  func `a request has at most 100 header fields`(count: Int, status: Int) async throws {
    let answer = try await serving {
      $0.refusal = { status, _ in .json(Array("{\"no\":\(status)}".utf8), status: status) }
    } client: { port in
      let fields = (2..<count).map { "X-\($0): a\r\n" }.joined()
      return try Wire.answer(to: "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\(fields)\r\n", port: port)
    }
    #expect(answer.hasPrefix("HTTP/1.1 \(status) "))
    #expect(answer.contains("{\"no\":431}") == (status == 431))
  }

  @Test(arguments: [
    (15_000, 200), (16_200, 200), (16_400, 431), (24_000, 431), (31_000, 431), (32_000, 431), (32_500, 431),
    (60_000, 431),
  ])
  func `a large head is always answered`(count: Int, status: Int) async throws {
    let answer = try await serving { port in
      let value = String(repeating: "a", count: count)
      return try Wire.answer(to: "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: \(value)\r\n\r\n", port: port)
    }
    #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
  }

  @Test(arguments: [(100, 200), (101, 400), (300, 400), (3000, 400)], ["a&", "a=b&", "&a="])
  func `a query has at most 100 items, and more are refused`(count: (Int, status: Int), item: String) async throws {
    let answer = try await serving {
      $0.refusal = { status, _ in .json(Array("{\"no\":\(status)}".utf8), status: status) }
    } client: { port in
      let query = String(repeating: item, count: count.0)
      return try Wire.answer(to: "GET /?\(query) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", port: port)
    }
    #expect(answer.hasPrefix("HTTP/1.1 \(count.status) "))
    #expect(answer.contains("{\"no\":400}") == (count.status == 400))
  }
}
