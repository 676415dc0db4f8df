import FleetSupport
import Testing
import TestSupport

/// `martlet dashboard` and the dashboard of `martlet all`.
struct DashboardCommandTests {
  private static let shared = Task { try await Fleet() }
  private let fleet: Fleet

  init() async throws {
    fleet = try await Self.shared.value
  }

  @Test(arguments: ["0.0.0.0:0", "[::]:0", "unix:dashboard.sock"])
  func `without operators it does not start where others could use it`(address: String) async throws {
    let child = try await fleet.martlet("dashboard", environment: ["MARTLET_DASHBOARD_ADDRESS": address])
    #expect(child.exitCode == 2)
    #expect(child.lines.contains { $0.contains("martlet credentials add operator") }, "\(child.lines)")
  }

  @Test func `an operator with Basic sees pages, and its admin port has its metrics`() async throws {
    let fleet = try await Fleet()
    let added = try await fleet.martlet("credentials", "add", "operator", "olga", "--role", "operator")
    #expect(added.exitCode == 0)
    let secret = try #require(added.lines(of: .output).first)
    let listed = try await fleet.martlet("credentials", "list", "operator", "--json")
    #expect(listed.lines.contains { $0.contains(#""role":"operator""#) }, "\(listed.lines)")
    let dashboard = try await fleet.dashboard(["MARTLET_DASHBOARD_ADDRESS": "0.0.0.0:0"])
    #expect(try await dashboard.status(of: "/") == 303)
    #expect(try await dashboard.status(of: "/", ["--user", "olga:\(secret)"]) == 200)
    #expect(try await dashboard.status(of: "/", ["--user", "olga:wrong"]) == 401)
    #expect(try await dashboard.stop() == 0)
  }

  @Test func `who revokes the last operator is told what to do`() async throws {
    let fleet = try await Fleet()
    for name in ["anna", "olga"] {
      #expect(try await fleet.martlet("credentials", "add", "operator", name).exitCode == 0)
    }
    let first = try await fleet.martlet("credentials", "revoke", "operator", "anna")
    #expect(first.exitCode == 0 && !first.lines.contains { $0.contains("No operator is left") })
    let last = try await fleet.martlet("credentials", "revoke", "operator", "olga")
    #expect(last.exitCode == 0)
    #expect(last.lines.contains { $0.contains("martlet credentials add operator NAME --role admin") }, "\(last.lines)")
  }

  @Test func `martlet all serves it, and runs without it if it is off`() async throws {
    let all = try await fleet.sidecar("all", ["MARTLET_QUEUES": fleet.unique("jobs")])
    #expect(all.process.lines.contains { $0.contains("dashboard listens") })
    #expect(try await all.stop() == 0)
    let without = try await fleet.sidecar(
      "all", ["MARTLET_QUEUES": fleet.unique("jobs"), "MARTLET_DASHBOARD_ADDRESS": "off"])
    #expect(!without.process.lines.contains { $0.contains("dashboard listens") })
    #expect(try await without.stop() == 0)
  }

  @Test func `a role belongs to operators only, and an unknown one is refused`() async throws {
    for (kind, name, role) in [
      ("key", "x", "admin"), ("operator", "x", "root"), ("operator", "a b", "viewer"), ("operator", "a:b", "viewer"),
    ] {
      let child = try await fleet.martlet("credentials", "add", kind, name, "--role", role)
      #expect(child.exitCode == 2, "\(kind) \(name) \(role)")
    }
  }
}
