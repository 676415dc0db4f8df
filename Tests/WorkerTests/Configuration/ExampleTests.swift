import APNs
import Foundation
import Redis
import Sidecar
import TestSupport
import Testing

@testable import Worker

/// The examples under deploy/ are settings that work.
struct ExampleTests {
  /// The settings of an example; those behind a `#` too, if `isComplete`.
  private func settings(_ name: String, isComplete: Bool = false) throws -> [String: String] {
    let root = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL
    let text = try String(contentsOf: root.appending(path: "deploy/examples/\(name).env"), encoding: .utf8)
    var values: [String: String] = [:]
    for line in text.split(separator: "\n") {
      let line = isComplete && line.hasPrefix("#") ? line.dropFirst() : line
      let parts = line.split(separator: "=", maxSplits: 1)
      guard parts.count == 2, parts[0].wholeMatch(of: /[A-Z_]+/) != nil else { continue }
      values[String(parts[0])] = String(parts[1])
    }
    return values
  }

  @Test func `ryos carries the document's origin policy`() async throws {
    var values = try settings("ryos")
    values["APNS_KEY_PATH"] = try await Self.keyPath.value
    let settings = try SidecarSettings(environment: values)
    var policy = OriginPolicy()
    policy.environment = .production
    policy.allowedOrigins = ["https://os.ryo.lu"]
    policy.previewHostPrefixes = ["ryos-", "ryo-lu-", "os-ryo-"]
    policy.trustedHostSuffixes = ["*.tailb4fa61.ts.net"]
    #expect(settings.sidecar.originPolicy == policy)
    #expect(settings.sidecar.missingRedisVariables == [])
    #expect(settings.sidecar.missingAPNsVariables == [])
    #expect(settings.sidecar.bundleID == "lu.ryo.os")
    #expect(settings.redis?.summary.contains("upstash.io") == true)
  }

  @Test func `claudiator is polling-only until its lines are taken in`() async throws {
    #expect(try WorkerConfiguration(environment: settings("claudiator")).apns == nil)
    var values = try settings("claudiator", isComplete: true)
    values["CLAUDIATOR_APNS_KEY_PATH"] = try await Self.keyPath.value
    let configuration = try WorkerConfiguration(environment: values)
    #expect(configuration.apns != nil)
    #expect(configuration.bundleID == "com.claudiator.app")
    #expect(configuration.defaultEnvironment == .production)
  }

  private static let gateway = Task { try await SimulatedGateway() }
  private static let keyPath = Task { try await gateway.value.ready.keyPath ?? "" }
}
