import Crypto
import FleetSupport
import Foundation
import HTTPServer
import JSON
import Program
import Sidecar
import Testing
import TestSupport

@testable import Martlet

struct CertificateSettingsTests {
  private func faults(_ values: [String: String]) -> [InvalidValue] {
    do {
      _ = try SidecarSettings(environment: values)
      return []
    } catch {
      return error.faults
    }
  }

  @Test func `without the settings there is no certificate`() throws {
    let settings = try SidecarSettings(environment: [:])
    #expect(settings.sidecar.listener.certificate == nil)
    #expect(settings.http.certificateFiles == nil)
  }

  @Test func `a certificate and its key are read`() async throws {
    let directory = try TemporaryDirectory()
    let made = try await TestCertificate(name: "push.example.com")
    try made.write(to: directory)
    let settings = try SidecarSettings(environment: directory.certificateSettings)
    #expect(settings.sidecar.listener.certificate?.subject == "CN=push.example.com")
    #expect(settings.http.certificateFiles?.read().certificate == settings.sidecar.listener.certificate)
  }

  @Test(arguments: [("MARTLET_HTTP_CERT", "MARTLET_HTTP_KEY"), ("MARTLET_HTTP_KEY", "MARTLET_HTTP_CERT")])
  func `one setting without the other is a fault of the other`(given: String, missing: String) {
    let found = faults([given: "/etc/martlet/file.pem"])
    #expect(found.map(\.place) == [missing])
    #expect(found.first?.seen == "not set")
    #expect(found.first?.expected.contains(given) == true)
  }

  @Test func `both files that cannot be read are faults at once`() throws {
    let found = faults(["MARTLET_HTTP_CERT": "/nowhere/cert.pem", "MARTLET_HTTP_KEY": "/nowhere/key.pem"])
    #expect(found.map(\.place) == ["MARTLET_HTTP_CERT", "MARTLET_HTTP_KEY"])
    #expect(found.first?.seen == "the file '/nowhere/cert.pem' cannot be read (No such file or directory)")
  }

  @Test func `a pair that cannot be used is a fault of one file, which says what is wrong and what is expected`()
    async throws
  {
    let directory = try TemporaryDirectory()
    let (made, other) = (try await TestCertificate(), try await TestCertificate())
    let encrypted = try await ChildProcess.run(
      "openssl", ["pkcs8", "-topk8", "-passout", "pass:word"], input: made.key)
    func fault(_ chain: String, _ key: String) throws -> String {
      try chain.write(toFile: "\(directory.path)/cert.pem", atomically: true, encoding: .utf8)
      try key.write(toFile: "\(directory.path)/key.pem", atomically: true, encoding: .utf8)
      let found = faults(directory.certificateSettings)
      #expect(found.count == 1)
      return found.first.map { "\($0)" } ?? "none"
    }
    let certificate = "MARTLET_HTTP_CERT: the file '\(directory.path)/cert.pem' "
    let key = "MARTLET_HTTP_KEY: the file '\(directory.path)/key.pem' "
    let many = try fault(String(repeating: made.chain, count: 17), made.key)
    #expect(many.hasPrefix(certificate + "contains more than 16 certificates"))
    let large = try fault(String(repeating: " ", count: 1 << 20) + made.chain, made.key)
    #expect(large.contains("is larger than 1048576 bytes") && large.contains("a file of at most 1048576 bytes"))
    #expect(try fault("no PEM", made.key).hasPrefix(certificate + "contains no certificate in PEM form"))
    #expect(try fault(other.chain + made.chain, made.key).hasPrefix(certificate + "begins with another certificate"))
    #expect(try fault(made.chain, "no PEM").hasPrefix(key + "contains no private key in PEM form"))
    #expect(try fault(made.chain, other.key).hasPrefix(key + "contains a private key that does not belong"))
    let refused = try fault(made.chain, encrypted)
    #expect(refused.hasPrefix(key + "contains an encrypted private key"))
    #expect(refused.contains("openssl pkey"))
  }
}
