import Crypto
import TestSupport
import Testing

struct ServerCertificateTests {
  @Test func `a certificate and its key are read from text with other things in it`() async throws {
    let made = try await TestCertificate(name: "push.example.com")
    let other = try await TestCertificate(name: "Authority")
    let file = Array("A comment\n\(made.key)\n\(made.chain)\n\(other.chain)".utf8)
    let certificate = try ServerCertificate(chain: file, key: file)
    #expect(certificate.subject == "CN=push.example.com")
    #expect(certificate.chain == made.chain + other.chain)
    #expect(certificate.key == made.key)
    #expect(certificate.expiry - certificate.start == 60 * 86_400)
  }

  @Test func `a certificate is valid from its start to its expiry`() async throws {
    let made = try await TestCertificate()
    let certificate = try ServerCertificate(chain: Array(made.chain.utf8), key: Array(made.key.utf8))
    #expect(certificate.validity(at: certificate.start - 1) == .notYet)
    #expect(certificate.validity(at: certificate.start) == .valid)
    #expect(certificate.validity(at: certificate.expiry) == .valid)
    #expect(certificate.validity(at: certificate.expiry + 1) == .expired)
  }

  @Test func `every fault has its own error`() async throws {
    let (made, other) = (try await TestCertificate(), try await TestCertificate())
    let encrypted = try await ChildProcess.run(
      "openssl", ["pkcs8", "-topk8", "-passout", "pass:word"], input: made.key)
    func error(_ chain: String, _ key: String) -> ServerCertificateError? {
      do throws(ServerCertificateError) {
        _ = try ServerCertificate(chain: Array(chain.utf8), key: Array(key.utf8))
        return nil
      } catch {
        return error
      }
    }
    #expect(error(made.chain, made.key) == nil)
    #expect(error("", made.key) == .noCertificate)
    #expect(error(made.key, made.key) == .noCertificate)
    #expect(error(made.chain + broken(other.chain), made.key) == .malformedCertificate(number: 2))
    #expect(error(other.chain + made.chain, made.key) == .misplacedCertificate(number: 2))
    #expect(error(made.chain + String(repeating: other.chain, count: 15), made.key) == nil)
    #expect(error(made.chain + String(repeating: other.chain, count: 16), made.key) == .tooManyCertificates)
    #expect(error(String(repeating: made.chain, count: 1_798), made.key) == .tooManyCertificates)
    #expect(error(made.chain, "") == .noKey)
    #expect(error(made.chain, made.chain) == .noKey)
    #expect(error(made.chain, encrypted) == .encryptedKey)
    #expect(error(made.chain, broken(made.key)) == .malformedKey)
    #expect(error(made.chain, other.key) == .otherKey)
  }

  /// Replaces the second line.
  private func broken(_ pem: String) -> String {
    var lines = pem.split(separator: "\n", omittingEmptySubsequences: false)
    lines[1] = "AAAA"
    return lines.joined(separator: "\n")
  }
}
