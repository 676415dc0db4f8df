import HTTPServer
import JSON
import Program
import Sidecar
import Testing

@testable import Worker
@testable import Martlet

struct AddressSettingsTests {
  @Test(arguments: ["127.0.0.1:0", "localhost:8080", "[::1]:8080", "unix:/run/martlet.sock"])
  func `a valid address is accepted`(address: String) throws {
    let settings = try SidecarSettings(environment: ["MARTLET_HTTP_ADDRESS": address])
    #expect("\(settings.sidecar.listener.address)" == address)
  }

  @Test func `a sidecar alone has its own default admin port`() throws {
    let none = try SidecarSettings(environment: [:])
    #expect(none.service.adminAddress?.description == "127.0.0.1:9091")
    for (value, address) in [("off", nil), ("OFF", nil), ("0", "127.0.0.1:0"), ("[::1]:7000", "[::1]:7000")] {
      let settings = try SidecarSettings(environment: ["MARTLET_ADMIN_ADDRESS": value])
      #expect(settings.service.adminAddress?.description == address)
    }
  }

  @Test(arguments: ["nowhere", ":8080", "127.0.0.1:99999", "127.0.0.1:", "::1:8080", "[::1", "unix:"])
  func `an invalid address is a fault`(address: String) {
    let settings = ["MARTLET_HTTP_ADDRESS": address, "MARTLET_ADMIN_ADDRESS": address]
    let sidecar = #expect(throws: ConfigurationFaults.self) { try SidecarSettings(environment: settings) }
    #expect(sidecar?.faults.map(\.place) == ["MARTLET_HTTP_ADDRESS", "MARTLET_ADMIN_ADDRESS"])
    let worker = #expect(throws: ConfigurationFaults.self) { try WorkerSettings(environment: settings) }
    #expect(worker?.faults.filter { $0.place == "MARTLET_ADMIN_ADDRESS" }.map(\.seen) == ["'\(address)'"])
  }
}
