import COpenSSL
import EventLoop
import Foundation
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
    let lines = Lines()
    let configuration = try APNsConfiguration(
      credentials: TestKey.credentials,
      gateway: .init(
        endpointOverride: "https://\(host):\(server.port)", caCertificatePEM: pem ?? server.authority))
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

  @Test func `an https proxy is reported by the name of its variable and without its URL`() throws {
    let problem = try #require(
      SecureChannel.httpsProxyProblem { $0 == "HTTPS_PROXY" ? "HTTPS://user:secret@proxy.example" : nil })
    #expect(problem.hasPrefix("HTTPS_PROXY names an https:// proxy"))
    #expect(!problem.contains("secret"))
  }

  @Test(arguments: ["http://proxy.example", "socks5h://proxy.example", "proxy.example:3128", ""])
  func `other proxies are not reported`(url: String) {
    #expect(SecureChannel.httpsProxyProblem { $0 == "https_proxy" ? url : nil } == nil)
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

  @Test func `authorities are trusted in addition to existing ones`() async throws {
    let (system, own) = (try await TLSServer(), try await TLSServer())
    let context = SSL_CTX_new(TLS_client_method())
    defer { SSL_CTX_free(context) }
    let directory = try TemporaryDirectory()
    let bundle = directory.path + "/system.pem"
    try system.authority.write(toFile: bundle, atomically: true, encoding: .utf8)
    let trust = try TrustStore(.init(bundle: bundle), and: try TrustedCertificates(pem: own.authority))
    #expect(ExpectedPeer(host: "localhost", trust: trust).apply(to: context))
    #expect(OPENSSL_sk_num(X509_STORE_get0_objects(SSL_CTX_get_cert_store(context))) == 2)
  }

  @Test func `connections share the authorities for an hour`() async throws {
    let own = try TrustedCertificates(pem: try await TLSServer().authority)
    let other = try TrustedCertificates(pem: try await TLSServer().authority)
    let (system, hour) = (TrustStore.System(), 3_600_000_000_000 as UInt64)
    let store = try TrustStore.shared(system, and: own, now: 5)
    #expect(try TrustStore.shared(system, and: own, now: hour) === store)
    #expect(try TrustStore.shared(system, and: other, now: hour) !== store)
    #expect(try TrustStore.shared(system, and: own, now: hour + 5) !== store)
  }

  @Test func `without any authority the error names the file that cannot be read`() {
    do throws(APNsError) {
      _ = try TrustStore(.init(bundle: "/nowhere/bundle.pem"), and: nil)
      Issue.record("it was accepted")
    } catch {
      #expect(error.description.contains("/nowhere/bundle.pem cannot be read"))
    }
  }

  @Test func `the error for an unreadable certificate names its position`() async throws {
    let good = try await TLSServer().authority
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    for (pem, place) in [
      (broken, "certificate 1"), (good + broken, "certificate 2"),
      (good + "-----BEGIN CERTIFICATE-----\nMII", "certificate 2"),
    ] {
      do throws(APNsError) {
        _ = try TrustedCertificates(pem: pem)
        Issue.record("it was accepted")
      } catch {
        #expect(error.description.contains(place))
      }
    }
    #expect(throws: APNsError.self) { try TrustedCertificates(pem: "") }
    #expect(throws: APNsError.self) { try TrustedCertificates(pem: TestKey.pem) }
  }
}
