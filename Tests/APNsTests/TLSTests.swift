import EventLoop
import HTTPClient
import Telemetry
import TestSupport
import Testing

@testable import APNs

/// Which servers a connection trusts, and the errors of failed connections.
@EventLoop
struct TLSTests {
  /// Returns why the client could not connect to a server.
  private func failure(_ server: TLSServer, host: String = "127.0.0.1", trusting pem: String? = nil) async throws
    -> String
  {
    let lines = LogLines()
    let configuration = try APNsConfiguration(
      keys: [TestKey.credentials],
      gateway: .init(
        endpointOverride: "https://\(host):\(server.port)",
        authorities: try TrustedCertificates(pem: pem ?? server.authority)))
    let client = APNsClient(configuration: configuration, metrics: Metrics(), log: lines.log)
    defer { client.close() }
    client.start()
    try await eventually("an outage") { lines.count(containing: "APNs connection lost") == 1 }
    #expect(!client.isConnected)
    return lines.all(containing: "APNs connection lost")[0]
  }

  @Test(arguments: [nil, "http/1.1"])
  func `a server that does not agree to HTTP/2 is reported as such`(alpn: String?) async throws {
    let server = try await TLSServer(alpn: alpn)
    #expect(try await failure(server).contains("did not agree to HTTP/2"))
    #expect(try await failure(server, host: "localhost").contains("did not agree to HTTP/2"))
  }

  @Test func `a certificate without subjectAltName is refused although its common name matches`() async throws {
    let server = try await TLSServer(names: nil)
    #expect(try await failure(server, host: "localhost").contains("mismatch"))
    let address = try await TLSServer(names: nil, commonName: "127.0.0.1")
    #expect(try await failure(address).contains("mismatch"))
  }

  @Test func `a certificate for another name is refused`() async throws {
    let server = try await TLSServer(names: "DNS:other.example")
    #expect(try await failure(server, host: "localhost").contains("mismatch"))
    #expect(try await failure(server).contains("mismatch"))
  }

  @Test func `each of several authorities is trusted, and no other`() async throws {
    let (first, second) = (try await TLSServer(), try await TLSServer())
    let both = "the first:\n" + first.authority + "\nthe second:\n" + second.authority + "\n"
    for server in [first, second] {
      #expect(try await failure(server, trusting: both).contains("did not agree to HTTP/2"), "trusted")
    }
    #expect(try await failure(first, trusting: second.authority).contains("certificate"))
  }

  @Test func `the log says what to do about a certificate that is refused`() async throws {
    let (server, other) = (try await TLSServer(), try await TLSServer())
    let unknown = try await failure(server, trusting: other.authority)
    #expect(unknown.contains(#""fix":"set APNS_CA_CERT to the authority that signed the gateway's certificate"#))
    let misnamed = try await failure(TLSServer(names: "DNS:other.example"))
    #expect(misnamed.contains(#""fix":"use a certificate with the host as subjectAltName"#))
  }
}
