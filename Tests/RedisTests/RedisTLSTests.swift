import EventLoop
import Foundation
import Redis
import TestSupport
import Testing

@EventLoop
@Suite(.enabled("the server under test was built without TLS") { try await RedisServer.hasTLS() })
struct RedisTLSTests {
  /// An authority, a certificate for localhost and 127.0.0.1, and a server that speaks nothing but TLS beside its
  /// socket.
  private struct Fixture: Sendable {
    let server: RedisServer
    let port: Int
    let authority: String
    private let directory: TemporaryDirectory

    init(extensions: String = "subjectAltName=DNS:localhost,IP:127.0.0.1", subject: String = "/CN=localhost")
      async throws
    {
      directory = try TemporaryDirectory()
      let path = directory.path
      let key = ["-newkey", "rsa:2048", "-nodes", "-days", "2"]
      try await ChildProcess.run(
        "openssl",
        ["req", "-x509"] + key + ["-keyout", "\(path)/ca.key", "-out", "\(path)/ca.crt", "-subj", "/CN=Test CA"])
      try await ChildProcess.run(
        "openssl",
        ["req", "-x509"] + key + [
          "-keyout", "\(path)/redis.key", "-out", "\(path)/redis.crt", "-subj", subject,
          "-CA", "\(path)/ca.crt", "-CAkey", "\(path)/ca.key",
          "-addext", extensions, "-addext", "basicConstraints=critical,CA:FALSE",
        ])
      port = try freePort()
      server = try await RedisServer([
        "--tls-port", String(port), "--tls-cert-file", "\(path)/redis.crt", "--tls-key-file", "\(path)/redis.key",
        "--tls-ca-cert-file", "\(path)/ca.crt", "--tls-auth-clients", "no", "--bind", "127.0.0.1 127.0.0.2",
      ])
      authority = try String(contentsOfFile: "\(path)/ca.crt", encoding: .utf8)
    }
  }

  private static let fixture = Task { try await Fixture() }

  @Test(arguments: ["localhost", "127.0.0.1"].filter(isResolvable))
  func `a server with the right name and authority is accepted`(host: String) async throws {
    let fixture = try await Self.fixture.value
    let connection = try await RedisConnection.ready("rediss://\(host):\(fixture.port)/3", ca: fixture.authority)
    let bytes = [UInt8](repeating: 9, count: 5_000_000)
    _ = try await connection.send(RedisCommand("SET").with("big").with(bytes))
    var replies = 0
    for number in 0..<3_000 {
      connection.send(RedisCommand("ECHO").with(number)) { result in
        if case .success(let value) = result, value.string == String(number) { replies += 1 }
      }
    }
    #expect(try await connection.send(RedisCommand("GET", "big")) == .bytes(bytes))
    #expect(replies == 3_000)
  }

  @Test func `a certificate for another name is refused`() async throws {
    let fixture = try await Self.fixture.value
    let connection = try RedisConnection.started("rediss://127.0.0.2:\(fixture.port)", ca: fixture.authority)
    let refusal = try await connection.refusal(containing: "certificate refused: IP address mismatch")
    #expect(!refusal.contains("REDIS_CA_CERT"))
    connection.close()
  }

  @Test func `a certificate of an unknown authority is refused, with the setting that names it`() async throws {
    let (fixture, other) = (try await Self.fixture.value, try await Fixture())
    for authority in [nil, other.authority] {
      let connection = try RedisConnection.started("rediss://127.0.0.1:\(fixture.port)", ca: authority)
      let refusal = try await connection.refusal(containing: "certificate refused")
      #expect(refusal.contains("set REDIS_CA_CERT to the authority that signed it"))
      connection.close()
    }
  }

  @Test func `a common name is not a host name`() async throws {
    let fixture = try await Fixture(extensions: "keyUsage=digitalSignature", subject: "/CN=127.0.0.1")
    for host in ["127.0.0.1", "localhost"].filter(isResolvable) {
      let connection = try RedisConnection.started("rediss://\(host):\(fixture.port)", ca: fixture.authority)
      _ = try await connection.refusal(containing: "certificate refused: ")
      connection.close()
    }
    let named = try await Fixture(extensions: "keyUsage=digitalSignature")
    guard isResolvable("localhost") else { return }
    let connection = try RedisConnection.started("rediss://localhost:\(named.port)", ca: named.authority)
    _ = try await connection.refusal(containing: "certificate refused: hostname mismatch")
    connection.close()
  }

  @Test func `an authority that is named is trusted beside those of the system`() async throws {
    let (fixture, other) = (try await Self.fixture.value, try await Fixture())
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let bundle = "\(directory.path)/system.pem"
    try fixture.authority.write(toFile: bundle, atomically: true, encoding: .utf8)
    setenv("SSL_CERT_FILE", bundle, 1)
    defer { unsetenv("SSL_CERT_FILE") }
    for port in [fixture.port, other.port] {
      let connection = try await RedisConnection.ready("rediss://127.0.0.1:\(port)", ca: other.authority)
      #expect(try await connection.send(RedisCommand("PING")) == .status("PONG"))
      connection.close()
    }
  }

  @Test func `a server that goes away under TLS is found again`() async throws {
    let fixture = try await Fixture()
    let connection = try await RedisConnection.ready("rediss://127.0.0.1:\(fixture.port)", ca: fixture.authority)
    try await fixture.server.restart()
    try await eventually("it reconnects") { connection.reconnects == 1 }
    #expect(try await connection.send(RedisCommand("PING")) == .status("PONG"))
  }
}
