import Crypto
import EventLoop
import Foundation
import Telemetry
import TestSupport
import Testing

@testable import Redis

/// A server that asks every client for a certificate.
@EventLoop
@Suite(.enabled("the server under test was built without TLS") { try await RedisServer.hasTLS() })
struct RedisClientCertificateTests {
  private struct Fixture: Sendable {
    let server: RedisServer
    let port: Int
    let authority: String
    let client: ServerCertificate
    /// Of an authority that the server does not trust.
    let stranger: ServerCertificate
    private let directory: TemporaryDirectory

    init() async throws {
      directory = try TemporaryDirectory()
      let made = try await TestCertificate()
      try made.write(to: directory)
      authority = made.chain
      client = try ServerCertificate(chain: Array(made.chain.utf8), key: Array(made.key.utf8))
      let other = try await TestCertificate(name: "stranger")
      stranger = try ServerCertificate(chain: Array(other.chain.utf8), key: Array(other.key.utf8))
      port = try freePort()
      let (certificate, key) = ("\(directory.path)/cert.pem", "\(directory.path)/key.pem")
      server = try await RedisServer([
        "--tls-port", String(port), "--tls-cert-file", certificate, "--tls-key-file", key,
        "--tls-ca-cert-file", certificate, "--tls-auth-clients", "yes",
      ])
    }

    func endpoint(_ certificate: ServerCertificate?) throws -> RedisEndpoint {
      try RedisEndpoint(url: "rediss://127.0.0.1:\(port)", caCertificatePEM: authority).presenting(certificate)
    }
  }

  private static let fixture = Task { try await Fixture() }

  private func connection(_ certificate: ServerCertificate?) async throws -> RedisConnection {
    let connection = RedisConnection(
      endpoint: try await Self.fixture.value.endpoint(certificate), name: "martlet", timeout: patience, log: .silent)
    connection.start()
    return connection
  }

  @Test func `a client with a certificate of a trusted authority is accepted`() async throws {
    let connection = try await connection(try await Self.fixture.value.client)
    try await connection.ready(within: patience)
    #expect(try await connection.send(RedisCommand("PING")) == .status("PONG"))
    connection.close()
  }

  @Test func `a client without a certificate is told which settings it needs`() async throws {
    let connection = try await connection(nil)
    _ = try await connection.refusal(containing: "Set REDIS_CLIENT_CERT and REDIS_CLIENT_KEY")
    connection.close()
  }

  @Test func `a certificate of an unknown authority is refused, with the setting that names it`() async throws {
    let connection = try await connection(try await Self.fixture.value.stranger)
    _ = try await connection.refusal(containing: "the server refuses REDIS_CLIENT_CERT")
    connection.close()
  }
}
