import Crypto
import FleetSupport
import Program
import Testing
import TestSupport

@testable import Martlet
@testable import Redis
@testable import Worker

/// REDIS_CLIENT_CERT and REDIS_CLIENT_KEY.
struct ClientCertificateSettingsTests {
  private static let made = Task { try await TestCertificate(name: "martlet") }

  private func endpoint(_ values: [String: String]) throws -> RedisEndpoint {
    try WorkerSettings(environment: values.merging(["REDIS_URL": "rediss://redis.example"]) { $1 }).worker.redis
  }

  private func faults(_ values: [String: String]) -> String {
    do {
      _ = try endpoint(values)
      return ""
    } catch {
      return "\((error as? ConfigurationFaults)?.text ?? "\(error)")"
    }
  }

  @Test func `certificate and key are read as text and as files`() async throws {
    let made = try await Self.made.value
    let directory = try TemporaryDirectory()
    try made.write(to: directory)
    let oneLine = made.key.split(separator: "\n").joined(separator: "\\n")
    for (certificate, key) in [
      (made.chain, made.key), ("\(directory.path)/cert.pem", "\(directory.path)/key.pem"), (made.chain, oneLine),
    ] {
      let endpoint = try endpoint(["REDIS_CLIENT_CERT": certificate, "REDIS_CLIENT_KEY": key])
      #expect(endpoint.clientCertificate?.subject == "CN=martlet")
      #expect(!"\(endpoint)".contains("PRIVATE"))
    }
    #expect(try endpoint([:]).clientCertificate == nil)
  }

  @Test func `one without the other is a fault of the missing one`() async throws {
    let made = try await Self.made.value
    let noKey = faults(["REDIS_CLIENT_CERT": made.chain])
    #expect(noKey.contains("REDIS_CLIENT_KEY: not set") && noKey.contains("because REDIS_CLIENT_CERT is set"))
    #expect(faults(["REDIS_CLIENT_KEY": made.key]).contains("REDIS_CLIENT_CERT: not set"))
  }

  @Test func `a pair that does not belong together is a fault that shows no key`() async throws {
    let (made, other) = (try await Self.made.value, try await TestCertificate(name: "other"))
    let mixed = faults(["REDIS_CLIENT_CERT": made.chain, "REDIS_CLIENT_KEY": other.key])
    #expect(mixed.contains("REDIS_CLIENT_KEY: contains a private key that does not belong to the certificate"))
    #expect(!mixed.contains(other.key.split(separator: "\n")[1]))
    let swapped = faults(["REDIS_CLIENT_CERT": made.key, "REDIS_CLIENT_KEY": made.chain])
    #expect(swapped.contains("REDIS_CLIENT_CERT: contains no certificate in PEM form"))
    #expect(!swapped.contains(made.key.split(separator: "\n")[1]))
    #expect(
      faults(["REDIS_CLIENT_CERT": "/nowhere/c.pem", "REDIS_CLIENT_KEY": made.key]).contains("REDIS_CLIENT_CERT:"))
  }
}
