import COpenSSL
import Foundation
import TestSupport
import Testing

@testable import HTTPClient

/// Which authorities are trusted, and what is said about a proxy that cannot be used.
struct TrustTests {
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
    do throws(HTTPClientError) {
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
      do throws(HTTPClientError) {
        _ = try TrustedCertificates(pem: pem)
        Issue.record("it was accepted")
      } catch {
        #expect(error.description.contains(place))
      }
    }
    #expect(throws: HTTPClientError.self) { try TrustedCertificates(pem: "") }
    let key = try await TestCertificate().key
    #expect(throws: HTTPClientError.self) { try TrustedCertificates(pem: key) }
  }
}
