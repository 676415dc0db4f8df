import FleetSupport
import Testing
import TestSupport

/// `martlet health` against services that run.
struct HealthCommandTests {
  private static let shared = Task { try await Fleet() }
  private let fleet: Fleet

  init() async throws { fleet = try await Self.shared.value }

  @Test(arguments: ["127.0.0.1", "0.0.0.0", ""])
  func `a service that works is healthy and ready`(host: String) async throws {
    let service = try await fleet.sidecar()
    let address = "\(host):\(try await service.adminPort)"
    // It waits for two seconds only.
    try await eventually("healthy") {
      let health = try await fleet.martlet("health", environment: ["MARTLET_ADMIN_ADDRESS": address])
      return health.exitCode == 0 && health.lines(of: .output) == ["ok"]
    }
    try await eventually("ready") {
      try await fleet.martlet("health", "--ready", "--address", address).exitCode == 0
    }
    try await service.stop()
  }

  @Test func `a service without Redis is healthy and not ready`() async throws {
    let service = try await fleet.sidecar("sidecar", ["REDIS_URL": "redis://127.0.0.1:1"])
    let address = "127.0.0.1:\(try await service.adminPort)"
    try await eventually("healthy") { try await fleet.martlet("health", "--address", address).exitCode == 0 }
    try await eventually("not ready") {
      let ready = try await fleet.martlet("health", "--ready", "--address", address)
      return ready.exitCode == 1 && ready.lines(of: .error).joined().contains("answers /readyz with status 503")
    }
    try await service.stop()
  }

  @Test func `a unix socket is asked too`() async throws {
    let path = "/tmp/\(fleet.unique("martlet-health")).sock"
    let service = try await fleet.sidecar("sidecar", ["MARTLET_ADMIN_ADDRESS": "unix:\(path)"])
    try await eventually("healthy") {
      try await fleet.martlet("health", "--address", "unix:\(path)").exitCode == 0
    }
    try await service.stop()
    #expect(try await fleet.martlet("health", "--address", "unix:\(path)").exitCode == 1)
  }

  @Test(arguments: [
    ("127.0.0.1:1", 1 as Int32, "nothing answers at 127.0.0.1:1"), (" OFF ", 1, "MARTLET_ADMIN_ADDRESS is off"),
    ("nonsense", 2, "\"nonsense\" is not an address"),
  ])
  func `an address without an answer is reported`(address: String, code: Int32, text: String) async throws {
    let health = try await fleet.martlet("health", environment: ["MARTLET_ADMIN_ADDRESS": address])
    #expect(health.exitCode == code)
    #expect(health.lines(of: .error).joined().contains(text), "\(health.lines(of: .error))")
  }
}
