import Crypto
import EventLoop
import HTTPServer
import Telemetry
import TestSupport
import Testing

@testable import HTTPClient

/// Requests to real servers on the loopback interface.
@EventLoop
struct HTTPClientTests {
  private let client = HTTPClient(label: "test.client")

  /// Starts a server that describes each request, and returns it.
  private func server(certificate: ServerCertificate? = nil) throws -> HTTPServer {
    var configuration = HTTPServerConfiguration(address: .loopback(port: 0))
    configuration.certificate = certificate
    configuration.maximumBodyBytes = 4 << 20
    let server = HTTPServer(configuration: configuration, log: .silent) { request, reply in
      let fields = request.headers.fields.map { "\($0.name.lowercased())=\($0.value)" }.sorted()
      let text = "\(request.method) \(request.path) \(request.body.count) \(fields.joined(separator: ","))"
      reply(
        HTTPResponse(
          status: request.path == "/refused" ? 418 : 200,
          headers: [("X-Zeros", "\(request.body.filter { $0 == 0 }.count)"), ("X-Padded", "  a b  ")],
          body: request.path == "/large" ? Array(repeating: 0x61, count: 1 << 20) : Array(text.utf8)))
    }
    try server.start()
    return server
  }

  /// Returns the error of a call that must fail.
  private func failure(_ call: HTTPCall, _ client: HTTPClient? = nil) async -> HTTPClientError? {
    do throws(HTTPClientError) {
      _ = try await (client ?? self.client).send(call)
      return nil
    } catch {
      return error
    }
  }

  @Test func `a request arrives as it was made, and its answer comes back`() async throws {
    let server = try server()
    let body: [UInt8] = [0, 1, 2, 0, 0xff, 0]
    let answer = try await client.send(
      HTTPCall(
        url: "http://127.0.0.1:\(server.port)/hook?x=1", headers: [("Content-Type", "application/json"), ("X-A", "b")],
        body: body))
    #expect(answer.status == 200)
    #expect(answer["x-zeros"] == "3")
    #expect(answer["x-padded"] == "a b")
    let text = String(decoding: answer.body, as: UTF8.self)
    #expect(text.hasPrefix("POST /hook 6 "))
    #expect(text.contains("content-type=application/json") && text.contains("x-a=b"))
    #expect(!text.contains("expect="))
  }

  @Test func `an answer that is not a success is an answer`() async throws {
    let server = try server()
    let answer = try await client.send(HTTPCall(url: "http://127.0.0.1:\(server.port)/refused"))
    #expect(answer.status == 418)
    #expect(String(decoding: answer.body, as: UTF8.self).hasPrefix("POST /refused 0 "))
  }

  @Test func `a call may have another method`() async throws {
    let server = try server()
    var call = HTTPCall(url: "http://127.0.0.1:\(server.port)/", body: [1, 2])
    for (method, bytes) in [(HTTPCall.Method.put, 2), (.delete, 2), (.get, 0), (.post, 2)] {
      call.method = method
      let text = String(decoding: try await client.send(call).body, as: UTF8.self)
      #expect(text.hasPrefix("\(method.rawValue) / \(bytes) "), "\(text)")
    }
  }

  @Test func `a large body is sent without waiting for consent`() async throws {
    let server = try server()
    let body = [UInt8](repeating: 0x62, count: 2 << 20)
    let answer = try await client.send(HTTPCall(url: "http://127.0.0.1:\(server.port)/", body: body))
    #expect(String(decoding: answer.body, as: UTF8.self).hasPrefix("POST / \(2 << 20) "))
  }

  @Test func `no more of an answer than allowed is read, and the next request works`() async throws {
    let server = try server()
    var call = HTTPCall(url: "http://127.0.0.1:\(server.port)/large")
    call.maximumAnswerBytes = 1000
    let large = try await client.send(call)
    #expect(large.body.count == 1000)
    #expect(large.isTruncated)
    call.url = "http://127.0.0.1:\(server.port)/"
    let next = try await client.send(call)
    #expect(next.status == 200)
    #expect(!next.isTruncated)
    #expect(String(decoding: next.body, as: UTF8.self).hasPrefix("POST / 0 "))
  }

  @Test func `a server that stalls costs no more than the timeout`() async throws {
    for answer in ["", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"] {
      let server = try RawServer(answer: answer, ending: .stall)
      var call = HTTPCall(url: "http://127.0.0.1:\(server.port)/")
      call.timeout = .milliseconds(200)
      guard case .timedOut = await failure(call) else {
        Issue.record("it did not time out")
        return
      }
    }
  }

  @Test func `a redirect is an answer and is not followed`() async throws {
    let target = try server()
    let server = try RawServer(
      answer: "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:\(target.port)/\r\nContent-Length: 0\r\n\r\n")
    let answer = try await client.send(HTTPCall(url: "http://127.0.0.1:\(server.port)/"))
    #expect(answer.status == 302)
    #expect(answer["location"] == "http://127.0.0.1:\(target.port)/")
  }

  @Test func `the fields of an interim answer are not the answer's`() async throws {
    let server = try RawServer(
      answer: "HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\nHTTP/1.1 204 No Content\r\nX-Late: 2\r\n\r\n")
    let answer = try await client.send(HTTPCall(url: "http://127.0.0.1:\(server.port)/"))
    #expect(answer.status == 204)
    #expect(answer["x-early"] == nil)
    #expect(answer["x-late"] == "2")
  }

  @Test(arguments: [
    "\u{0}\u{0}\u{0}\u{0}", "hello\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
    "HTTP/1.1 200 OK\r\nX: \(String(repeating: "a", count: 70_000))\r\n\r\n",
    "HTTP/1.1 200 OK\r\n\(String(repeating: "X: 123456789\r\n", count: 6000))\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
  ])
  func `garbage instead of an answer is an error`(answer: String) async throws {
    let server = try RawServer(answer: answer)
    let error = await failure(HTTPCall(url: "http://127.0.0.1:\(server.port)/"))
    guard case .connection(let text) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(!text.isEmpty)
  }

  @Test func `a port without a server and a name without an address are told apart`() async throws {
    let port = try freePort()
    guard case .refused = await failure(HTTPCall(url: "http://127.0.0.1:\(port)/")) else {
      Issue.record("not refused")
      return
    }
    guard case .unresolved(let text) = await failure(HTTPCall(url: "http://nowhere.invalid/")) else {
      Issue.record("resolved")
      return
    }
    #expect(text.contains("nowhere.invalid"))
  }

  @Test func `only a certificate of a trusted authority for the name is accepted`() async throws {
    let certificate = try await TestCertificate()
    let server = try server(
      certificate: ServerCertificate(
        chain: Array(certificate.chain.utf8), key: Array(certificate.key.utf8)))
    let call = HTTPCall(url: "https://localhost:\(server.port)/")
    guard case .certificate = await failure(call) else {
      Issue.record("an unknown authority was trusted")
      return
    }
    let trusting = HTTPClient(label: "test.trusting", authorities: try TrustedCertificates(pem: certificate.chain))
    #expect(try await trusting.send(call).status == 200)

    let other = try await TLSServer(names: "DNS:other.example")
    let misnamed = HTTPClient(label: "test.misnamed", authorities: try TrustedCertificates(pem: other.authority))
    guard case .certificate = await failure(HTTPCall(url: "https://localhost:\(other.port)/"), misnamed) else {
      Issue.record("a certificate for another name was accepted")
      return
    }
  }

  @Test func `an invalid call is an error and sends nothing`() async throws {
    for url in ["file:///etc/hostname", "http://127.0.0.1:1/\r\nX: y", "nothing"] {
      guard case .configuration = await failure(HTTPCall(url: url)) else {
        Issue.record("\(url) was accepted")
        return
      }
    }
  }
}
