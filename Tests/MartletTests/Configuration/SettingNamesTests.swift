import JSON
import Program
import Testing

@testable import Martlet

/// Names of environment variables that no program knows.
struct SettingNamesTests {
  private func environment(_ values: [String: String]) -> ProcessEnvironment {
    ProcessEnvironment(values, settingsOfParts: [])
  }

  @Test(
    arguments: [
      ("MARTLET_QUEUE", "MARTLET_QUEUES"), ("MARTLET_CONCURENCY", "MARTLET_CONCURRENCY"),
      ("MARTLET_HTTP_ADRESS", "MARTLET_HTTP_ADDRESS"), ("MARTLET_log", "MARTLET_LOG"),
    ])
  func `a mistyped setting is a fault that names the nearest one, in every service`(name: String, nearest: String) {
    let values = ["REDIS_URL": "redis://localhost", name: "secret-value"]
    let errors = [
      #expect(throws: ConfigurationFaults.self) { try WorkerSettings(environment: values) },
      #expect(throws: ConfigurationFaults.self) { try SidecarSettings(environment: values) },
      #expect(throws: ConfigurationFaults.self) { try DashboardSettings(environment: values) },
      #expect(throws: ConfigurationFaults.self) { try ClientConfiguration(environment(values)) },
    ]
    for error in errors {
      #expect(error?.faults.map(\.place) == [name])
      #expect(error?.text.contains(nearest) == true)
      #expect(error?.text.contains("secret-value") == false)
    }
  }

  @Test func `it is reported with all other faults`() {
    let error = #expect(throws: ConfigurationFaults.self) {
      try ClientConfiguration(environment(["REDIS_URL": "x", "MARTLET_QUEUE": "a", "MARTLET_QUEUES": "a b"]))
    }
    #expect(error?.faults.map(\.place) == ["MARTLET_QUEUE", "REDIS_URL", "MARTLET_QUEUES"])
  }

  @Test(
    arguments: [
      "MARTLET_SERVICE_HOST", "MARTLET_SIDECAR_SERVICE_HOST", "MARTLET_SIDECAR_SERVICE_PORT",
      "MARTLET_SIDECAR_SERVICE_PORT_HTTP", "MARTLET_SIDECAR_PORT", "MARTLET_PORT", "MARTLET_SIDECAR_PORT_8080_TCP",
      "MARTLET_SIDECAR_PORT_8080_TCP_ADDR", "MARTLET_DNS_PORT_53_UDP_PROTO", "MARTLET_TEST_REDIS", "MARTLET_BUILD",
      "MARTLET_IMAGE", "MARTLETS", "OTHER",
    ])
  func `links to services, variables of tests and of other programs are no settings`(name: String) {
    #expect(SettingNames.faults(in: environment([name: "x"])) == [])
  }

  @Test(arguments: ["MARTLET_HTTP_PORT_X", "MARTLET_SERVICE", "MARTLET_SERVICE_HOSTS", "MARTLET_PORT_99999_TCP"])
  func `what only resembles a link is a fault, a blank value is not`(name: String) {
    #expect(SettingNames.faults(in: environment([name: "x"])).count == 1)
    #expect(SettingNames.faults(in: environment([name: " "])) == [])
  }
}
