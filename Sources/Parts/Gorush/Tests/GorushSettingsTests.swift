import HTTPServer
import JSON
import Program
import Sidecar
import Testing

@testable import Gorush

struct GorushSettingsTests {
  private func sidecar(_ value: String?) throws -> SidecarConfiguration {
    var reader = EnvironmentReader(value.map { ["MARTLET_GORUSH": $0] } ?? [:])
    var sidecar = SidecarConfiguration(listener: .init(address: .loopback(port: 0)))
    GorushPart.add(to: &sidecar, &reader)
    guard reader.faults.isEmpty else { throw ConfigurationFaults(reader.faults) }
    return sidecar
  }

  @Test func `the API is off unless its setting says who may use it`() throws {
    #expect(try sidecar(nil).apis.isEmpty)
    #expect(try sidecar("off").apis.isEmpty)
    #expect(try sidecar("Key").apis.count == 1)
    let error = #expect(throws: ConfigurationFaults.self) { try sidecar("true") }
    #expect(error?.faults.map(\.expected) == ["one of off, key, open"])
  }

  @Test func `doctor is told of an API that is open to anybody`() throws {
    #expect(try sidecar("key").openDoors.isEmpty)
    #expect(try sidecar("open").openDoors.map(\.setting) == ["MARTLET_GORUSH"])
  }
}
