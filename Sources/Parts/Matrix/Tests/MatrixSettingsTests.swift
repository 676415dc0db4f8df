import Foundation
import HTTPServer
import JSON
import Program
import PushModel
import Sidecar
import Testing
import TestSupport

@testable import Matrix

struct MatrixSettingsTests {
  private let directory: TemporaryDirectory
  private var path: String { "\(directory.path)/matrix.json" }

  init() throws { directory = try TemporaryDirectory() }

  /// Returns the number of APIs. Throws the faults.
  private func apis(_ values: [String: String]) throws -> Int {
    var reader = EnvironmentReader(values)
    var sidecar = SidecarConfiguration(listener: .init(address: .loopback(port: 0)))
    MatrixPart.add(to: &sidecar, &reader)
    guard reader.faults.isEmpty else { throw ConfigurationFaults(reader.faults) }
    return sidecar.apis.count
  }

  private func apis(_ text: String) throws -> Int {
    try Data(text.utf8).write(to: URL(filePath: path))
    return try apis(["MARTLET_MATRIX": path])
  }

  @Test func `without the setting there is no gateway`() throws {
    #expect(try apis([:]) == 0)
  }

  @Test func `the file names apps by their app_ids`() throws {
    let text =
      #"{"apps":{"im.app.*":{"bundleId":"im.app"},"im.app.dev":{"bundleId":"im.app.dev","environment":"development"}}}"#
    #expect(try apis(text) == 1)
  }

  @Test(arguments: [
    ("nothing", "not JSON"), ("[]", "a list of 0"), ("{}", "apps: missing"), (#"{"apps":[]}"#, "apps: a list of 0"),
    (#"{"apps":{}}"#, "apps: an object"), (#"{"apps":{"a":7}}"#, "apps.a: 7"),
    (#"{"apps":{"a":{}}}"#, "apps.a.bundleId: missing"),
    (#"{"apps":{"a":{"bundleId":"x y"}}}"#, "apps.a.bundleId: 'x y'"),
    (#"{"apps":{"a":{"bundleId":"x","environment":"moon"}}}"#, "apps.a.environment: 'moon'"),
    (#"{"apps":{"a":{"bundleId":"x","topic":"y"}}}"#, "unknown field 'topic'"),
    (#"{"apps":{"":{"bundleId":"x"}}}"#, "''"),
    (#"{"apps":{"a b":{"bundleId":"x"}}}"#, "'a b'"),
    (#"{"apps":{"a":{"bundleId":"x"},"a":{"bundleId":"y"}}}"#, "not JSON"),
    (#"{"apps":{"a":{"bundleId":"x"}},"more":1}"#, "unknown field 'more'"),
  ])
  func `a fault names its place and what is expected`(text: String, seen: String) throws {
    let error = #expect(throws: ConfigurationFaults.self) { try apis(text) }
    #expect(error?.faults.map(\.place) == ["MARTLET_MATRIX"])
    #expect(error?.faults.first?.seen.contains(seen) == true, "\(error?.text ?? "")")
    #expect(error?.faults.first?.expected.isEmpty == false)
  }

  @Test func `every fault is reported at once`() throws {
    let error = #expect(throws: ConfigurationFaults.self) {
      try apis(#"{"apps":{"a":{"bundleId":7},"b":{"bundleId":"x","environment":1}}}"#)
    }
    #expect(error?.faults.count == 2)
  }

  @Test func `a file that cannot be read is a fault`() {
    let error = #expect(throws: ConfigurationFaults.self) {
      try apis(["MARTLET_MATRIX": "\(directory.path)/none.json"])
    }
    #expect(error?.text.contains("cannot be read") == true)
  }
}
