import Crypto
import FleetSupport
import Operations
import Program
import Testing
import TestSupport

@testable import Martlet

struct CertificateExaminationTests {
  @Test func `a certificate is ok until 14 days before its expiry, and then needs to be renewed`() async throws {
    let made = try await TestCertificate(name: "push.example.com", days: 60)
    let certificate = try ServerCertificate(chain: Array(made.chain.utf8), key: Array(made.key.utf8))
    func finding(_ now: Int64) -> Finding { CertificateExamination(certificate: certificate).finding(at: now) }
    let day: Int64 = 86_400
    #expect(finding(certificate.start).severity == .ok)
    #expect(finding(certificate.start).text.contains("CN=push.example.com"))
    #expect(finding(certificate.expiry - 14 * day).severity == .ok)
    let soon = finding(certificate.expiry - 14 * day + 1)
    #expect(soon.severity == .warning)
    #expect(soon.text.contains("expires in 13 days"))
    #expect(soon.fix?.contains("SIGHUP") == true)
    #expect(finding(certificate.expiry + 1).severity == .problem)
    #expect(finding(certificate.start - 1).severity == .problem)
  }
}
