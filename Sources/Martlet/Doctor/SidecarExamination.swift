import HTTPServer
import Operations
import Program
import Sidecar
import Worker

/// Checks who can reach the HTTP services.
package struct SidecarExamination {
  let settings: SidecarSettings
  /// The admin address of the worker. Nil if it is off.
  let adminAddress: HTTPAddress?
  /// Whether MARTLET_ENV is set.
  let isEnvironmentNamed: Bool

  func findings() -> [Finding] {
    let address = settings.sidecar.listener.address
    var findings: [Finding] = []
    if SidecarExamination.isLocal(address) {
      findings.append(Finding("sidecar", .ok, "listens on \(address), for this machine only"))
    } else {
      findings += open(address)
    }
    if let adminAddress, !SidecarExamination.isLocal(adminAddress) {
      findings.append(
        Finding(
          "admin port", .fact, "listens on \(adminAddress): others can read /metrics",
          fix: "block others with a firewall, or listen on \(WorkerSettings.defaultAdminAddress)"))
    }
    return findings
  }

  /// Says who can reach the dashboard, which then needs operators.
  static func finding(ofDashboard address: HTTPAddress) -> Finding {
    isLocal(address)
      ? Finding("dashboard", .ok, "listens on \(address), for this machine only")
      : Finding(
        "dashboard", .fact, "listens on \(address): whoever reaches it must sign in",
        fix: "nothing, if that is meant; it starts only if an operator exists (martlet credentials add operator)")
  }

  private func open(_ address: HTTPAddress) -> [Finding] {
    var findings = settings.sidecar.openDoors.map { door in
      Finding(
        "sidecar", .warning, "listens on \(address), where \(door.setting) lets anybody \(door.harm)",
        fix: "unset \(door.setting), or listen on \(SidecarSettings.defaultAddress)")
    }
    if findings.isEmpty { findings.append(Finding("sidecar", .ok, "listens on \(address)")) }
    if !isEnvironmentNamed {
      findings.append(
        Finding(
          "origins", .fact,
          "MARTLET_ENV is not set: it is development, in which pages of localhost may call the push API",
          fix: "set MARTLET_ENV=production and MARTLET_ALLOWED_ORIGINS"))
    }
    return findings
  }

  /// Returns whether only this machine can reach the address.
  static func isLocal(_ address: HTTPAddress) -> Bool {
    guard case .tcp(let host, _) = address else { return true }
    return host.lowercased() == "localhost" || IPAddress(host)?.isLoopback == true
  }
}
