import Crypto
import EventLoop
import Telemetry
import TestSupport
import Testing

@testable import HTTPServer

/// HTTPS, and the replacement of its certificate.
extension HTTPServerTests {
  /// The first bytes of a TLS record with a ClientHello.
  private static let helloFragment = "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}"

  private func certificate(_ made: TestCertificate) throws -> ServerCertificate {
    try ServerCertificate(chain: Array(made.chain.utf8), key: Array(made.key.utf8))
  }

  private func server(
    _ made: TestCertificate, handler: @escaping HTTPServer.Handler = HTTPServerTests.echo,
    change: (inout HTTPServerConfiguration) -> Void = { _ in }
  ) throws -> HTTPServer {
    var configuration = HTTPServerConfiguration(address: .loopback(port: 0))
    configuration.certificate = try certificate(made)
    change(&configuration)
    let server = HTTPServer(configuration: configuration, log: .silent, handler: handler)
    try server.start()
    return server
  }

  /// curl, which trusts `made` and nothing else.
  private func curl(_ made: TestCertificate, _ port: Int, _ arguments: [String] = []) async throws -> String {
    let directory = try TemporaryDirectory()
    try made.write(to: directory)
    return try await ChildProcess.run(
      "curl",
      ["-sS", "--cacert", "\(directory.path)/cert.pem"] + arguments
        + ["https://localhost:\(port)/hello"])
  }

  @Test(arguments: [["ec", "-pkeyopt", "ec_paramgen_curve:P-256"], ["rsa:2048"], ["ed25519"]])
  func `a request over TLS is answered`(key: [String]) async throws {
    let made = try await TestCertificate(key: key)
    let server = try server(made)
    for version in [["--tlsv1.3"], ["--tls-max", "1.2"]] {
      #expect(try await curl(made, server.port, version + ["-d", "hello"]).hasPrefix("POST /hello [] - 5."))
    }
    await server.stop()
  }

  @Test func `TLS 1_1 and a plaintext request are refused, and the server goes on`() async throws {
    let made = try await TestCertificate()
    let server = try server(made)
    let port = server.port
    let old = try ChildProcess(
      "openssl", ["s_client", "-connect", "127.0.0.1:\(port)", "-tls1_1", "-cipher", "ALL:@SECLEVEL=0"])
    #expect(try await old.exit() != 0)
    let plain = try await blocking {
      try Wire.answer(to: "GET / HTTP/1.1\r\nHost: x\r\n\r\n", port: port)
    }
    #expect(!plain.contains("HTTP/1.1"))
    #expect(try await curl(made, port).hasPrefix("GET /hello"))
    await server.stop()
  }

  @Test func `a head and a body that are too large are refused over TLS, too`() async throws {
    let made = try await TestCertificate()
    let server = try server(made, change: { $0.maximumBodyBytes = 10 })
    let status = ["-o", "/dev/null", "-w", "%{http_code}"]
    let field = String(repeating: "a", count: 20_000)
    #expect(try await curl(made, server.port, status + ["-H", "X-Test: \(field)"]) == "431")
    #expect(try await curl(made, server.port, status + ["-d", "more than ten"]) == "413")
    await server.stop()
  }

  @Test func `handshakes that do not go on stop nobody, do not keep the loop busy, and are closed`() async throws {
    let made = try await TestCertificate()
    let server = try server(made, change: { $0.connectionTimeout = 10 })
    let port = server.port
    let held = try await blocking { try (0..<50).map { _ in HeldWire(try Wire(port: port)) } }
    for (index, wire) in held.enumerated() where index % 2 == 0 { wire.wire.send(Self.helloFragment) }
    for _ in 0..<5 { #expect(try await curl(made, port).hasPrefix("GET /hello")) }
    let ends = try await blocking { try held.map { try $0.wire.readToEnd() } }
    #expect(ends.allSatisfy { !$0.contains("HTTP") })
    #expect(server.runs < 10_000)
    #expect(server.connections == 0)
    await server.stop()
  }

  @Test func `while certificates are replaced no request fails, and the new ones are served`() async throws {
    let made = [try await TestCertificate(), try await TestCertificate(key: ["rsa:2048"]), try await TestCertificate()]
    var answered = 0
    let server = try server(
      made[0],
      handler: { _, reply in
        answered += 1
        reply(.text("ok\n"))
      })
    let clients = try await AskingClients(port: server.port)
    for turn in 1...30 {
      try server.replaceCertificate(with: try certificate(made[turn % made.count]))
      let before = answered
      try await eventually("requests after the replacement") { answered > before + 10 }
    }
    let report = try await clients.stop()
    #expect(report.failures == [])
    #expect(Set(report.certificates) == Set(made.map(\.digest)))
    #expect(report.versions == ["TLSv1.3"])
    try await eventually("only one daemon") { server.daemonCount == 1 }
    await server.stop()
  }

  @Test func `a request under way when the certificate is replaced is answered, and its connection closed`()
    async throws
  {
    let (first, second) = (try await TestCertificate(), try await TestCertificate())
    var pending: (@EventLoop (HTTPResponse) -> Void)?
    let server = try server(
      first,
      handler: { request, reply in
        if request.path == "/hello", pending == nil { pending = reply } else { reply(.text("at once")) }
      })
    async let answer = curl(first, server.port, ["-i"])
    try await eventually("the request") { pending != nil }
    try server.replaceCertificate(with: try certificate(second))
    #expect(try await curl(second, server.port) == "at once")
    pending?(.text("later"))
    let text = try await answer
    #expect(text.lowercased().contains("connection: close"))
    #expect(text.hasSuffix("later"))
    await server.stop()
  }

  @Test func `a key that GnuTLS does not know is refused, and the server goes on with the old certificate`()
    async throws
  {
    let made = try await TestCertificate()
    let unknown = try await TestCertificate(key: ["ec", "-pkeyopt", "ec_paramgen_curve:secp256k1"])
    let server = try server(made)
    for _ in 1...3 {
      let error = #expect(throws: HTTPServerError.self) {
        try server.replaceCertificate(with: try certificate(unknown))
      }
      #expect(error?.description.contains("GnuTLS") == true)
    }
    #expect(try await curl(made, server.port).hasPrefix("GET /hello"))
    #expect(throws: HTTPServerError.self) { try self.server(unknown) }
    await server.stop()
  }

  @Test func `a stop lets requests of the old and of the new certificate finish`() async throws {
    let (first, second) = (try await TestCertificate(), try await TestCertificate())
    var pending: [@EventLoop (HTTPResponse) -> Void] = []
    let server = try server(first, handler: { _, reply in pending.append(reply) })
    let port = server.port
    async let one = curl(first, port)
    try await eventually("the first request") { pending.count == 1 }
    try server.replaceCertificate(with: try certificate(second))
    async let two = curl(second, port)
    try await eventually("the second request") { pending.count == 2 }
    var isStopped = false
    server.stop { isStopped = true }
    #expect(!isStopped)
    for reply in pending { reply(.text("done")) }
    #expect(try await [one, two] == ["done", "done"])
    try await eventually("the stop") { isStopped }
    await #expect(throws: (any Error).self) { try await curl(second, port) }
  }

  @Test func `the limit of connections is one limit for the old and the new certificate`() async throws {
    let (first, second) = (try await TestCertificate(), try await TestCertificate())
    let limit = 10
    let server = try server(first, change: { $0.maximumConnections = limit })
    let port = server.port
    let old = try await blocking { try (0..<limit).map { _ in HeldWire(try Wire(port: port)) } }
    try await eventually("the connections") { server.connections == limit }
    try server.replaceCertificate(with: try certificate(second))
    let fresh = try await blocking { try (0..<limit).map { _ in HeldWire(try Wire(port: port)) } }
    #expect(server.connections <= limit)
    // Waiting connections are closed to make room.
    try await eventually("room for another client") {
      do { return try await curl(second, port).hasPrefix("GET /hello") } catch { return false }
    }
    #expect(old.count == fresh.count)
    await server.stop()
  }

  private final class HeldWire: Sendable {
    let wire: Wire

    init(_ wire: consuming Wire) { self.wire = wire }
  }
}
