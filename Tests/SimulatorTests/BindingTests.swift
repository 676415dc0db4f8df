import Foundation
import TestSupport
import Testing

@testable import Simulator

/// A simulator of one environment, whose provider key is that of another one.
struct BindingTests {
  @Test func `the sandbox alone answers with an apns-unique-id, another one each time`() async throws {
    let sandbox = try await SimulatedGateway(["--environment", "sandbox"])
    func uniqueID() async throws -> String? {
      try await sandbox.push().split(whereSeparator: \.isNewline).first { $0.hasPrefix("apns-unique-id: ") }.map(
        String.init)
    }
    let (first, second) = (try await uniqueID(), try await uniqueID())
    #expect(first != nil && second != nil && first != second)
    try await sandbox.process.stop()
    for arguments in [[], ["--environment", "production"]] {
      let other = try await SimulatedGateway(arguments)
      #expect(!(try await other.push().contains("apns-unique-id")))
      try await other.process.stop()
    }
  }

  @Test func `tokens and keys of the other environment, topic or app are refused`() async throws {
    let simulator = try await SimulatedGateway()
    let sandbox = try await SimulatedGateway(simulator.keyArguments + ["--environment", "sandbox"])
    let path = try #require(simulator.ready.keyPath)
    let authorization = try ProviderTokenSigner(path: path).authorization()
    func reason(_ topic: String = "com.example.demo", type: String = "alert") async throws -> String {
      try await ChildProcess.run(
        "curl",
        [
          "-sS", "--http2", "--cacert", sandbox.ready.caCertificate, "-d", "{}", "-H",
          "authorization: \(authorization)",
          "-H", "apns-topic: \(topic)", "-H", "apns-push-type: \(type)",
          "\(sandbox.ready.url)/3/device/\(RequestHead.token)",
        ])
    }
    #expect(try await reason() == "")
    let others = (0..<2000).map { String(format: "%064x", $0) }
    func tokens(_ environment: String) -> [SimulatedGateway.Token] {
      (others + [RequestHead.token]).map { .init($0, environment: environment, bundleID: "com.example.demo") }
    }
    try await sandbox.bind(tokens("sandbox"))
    #expect(try await reason() == "")
    #expect(try await reason("com.example.demo.voip", type: "voip") == #"{"reason":"DeviceTokenNotForTopic"}"#)
    try await sandbox.bind(tokens("production"))
    #expect(try await reason() == #"{"reason":"BadDeviceToken"}"#)
    try await sandbox.clearDevices()
    try await sandbox.restrictKey(sandbox.ready.keyId, environment: "production")
    #expect(try await reason() == #"{"reason":"BadEnvironmentKeyIdInToken"}"#)
    try await sandbox.restrictKey(sandbox.ready.keyId, environment: "sandbox", onlyBundleIDs: ["com.example.demo"])
    #expect(try await reason("com.example.demo.voip", type: "voip") == "")
    #expect(try await reason("com.example.other") == #"{"reason":"TopicDisallowed"}"#)
    try await sandbox.process.stop()
  }
}
