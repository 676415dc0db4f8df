import FleetSupport
import JSON
import Testing
import TestSupport

/// The admin port of a sidecar.
struct AdminPortTests {
  private static let shared = Task { try await Fleet() }
  private let fleet: Fleet

  init() async throws { fleet = try await Self.shared.value }

  @Test(arguments: ["sidecar", "all"], [true, false])
  func `metrics are on the admin port, not on the public one`(command: String, isPollingOnly: Bool) async throws {
    let service = try await fleet.sidecar(command, isPollingOnly: isPollingOnly)
    try await eventually("ready") {
      try await service.ask("/readyz", as: "").json["redis"]?.string == "ok"
    }
    #expect(try await service.ask("/metrics", as: "").status == 404)
    let metrics = try await service.admin("/metrics")
    #expect(metrics.status == 200)
    #expect(metrics.body.contains("martlet_http_requests_total{method=\"GET\",route=\"none\",status=\"404\"} 1"))
    #expect(metrics.body.contains("martlet_pushes_in_flight") == (command == "all"))
    #expect(try await service.admin("/healthz").status == 200)
    try await eventually("the worker is ready") {
      try await service.admin("/readyz").body.contains("\"redis\":\"ok\"")
    }
    #expect(service.process.lines(of: .error).count { $0.contains("admin port listens") } == 1)
    #expect(try await service.stop() == 0)
  }

  @Test func `an admin address in use ends the start with a message that names the setting`() async throws {
    let service = try await fleet.sidecar()
    let address = "127.0.0.1:\(try await service.adminPort)"
    let second = try await fleet.martlet(
      "sidecar", environment: ["MARTLET_ADMIN_ADDRESS": address, "MARTLET_HTTP_ADDRESS": "127.0.0.1:0"])
    #expect(second.exitCode == 1)
    let text = second.lines(of: .error).joined(separator: "\n")
    #expect(text.contains("MARTLET_ADMIN_ADDRESS") && text.contains("\(address): Address already in use"), "\(text)")
    #expect(try await service.stop() == 0)
  }

  @Test func `a sidecar without an admin port serves`() async throws {
    let service = try await fleet.sidecar("sidecar", ["MARTLET_ADMIN_ADDRESS": "off"])
    #expect(try await service.ask("/metrics", as: "").status == 404)
    #expect(!service.process.lines(of: .error).contains { $0.contains("admin port listens") })
    #expect(try await service.stop() == 0)
  }

  @Test func `a SIGTERM right after the start stops a service in order`() async throws {
    for _ in 0..<20 {
      let service = try await fleet.sidecar("sidecar", ["MARTLET_ADMIN_ADDRESS": "off"])
      let code = try await service.stop()
      #expect(code == 0, "\(service.process.lines(of: .error))")
    }
  }
}
