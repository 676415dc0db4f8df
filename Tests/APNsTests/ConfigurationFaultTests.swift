import EventLoop
import Telemetry
import TestSupport
import Testing

@testable import APNs

extension SimulatorTests {
  @Suite @EventLoop
  struct ConfigurationFaultTests {
    let apns: SimulatedGateway

    init() async throws {
      apns = try await SimulatedGateway.shared.value
      try await apns.reset()
      try await SimulatedGateway.beginOfTokenWindow()
    }

    @Test func `an expired provider token is renewed once and every push arrives`() async throws {
      try await apns.fault(#"{"kind":"status","status":403,"reason":"ExpiredProviderToken","after":1,"count":20}"#)
      let lines = LogLines()
      let client = try apns.client(log: lines.log)
      defer { client.close() }
      #expect(await client.outcomes(1...50).allSatisfy(\.isAccepted))
      #expect(lines.count(containing: "provider token minted") == 2)
    }

    @Test func `without a server pushes end and the outage is one line`() async throws {
      let port = try freePort()
      var limits = APNsConfiguration.Limits.patient
      limits.outagePatience = .milliseconds(400)
      let configuration = try APNsConfiguration(
        keys: [TestKey.credentials], gateway: .init(endpointOverride: "https://127.0.0.1:\(port)"),
        limits: limits)
      let lines = LogLines()
      let client = APNsClient(configuration: configuration, metrics: Metrics(), log: lines.log)
      defer { client.close() }
      client.start()
      try await eventually("the outage is noticed") { lines.count(containing: "APNs connection lost") == 1 }
      for outcome in await client.outcomes(1...10) {
        guard case .notProcessed(let why) = outcome else { return #expect(Bool(false), "\(outcome)") }
        #expect(why.hasPrefix("NoConnection: "))
      }
      #expect(!client.isConnected)
      #expect(lines.count(containing: "APNs connection lost") == 1)
    }

    @Test func `a certificate of an unknown authority is not trusted`() async throws {
      var limits = APNsConfiguration.Limits()
      limits.requestTimeout = .milliseconds(500)
      limits.tick = .milliseconds(20)
      let configuration = try APNsConfiguration(
        keys: [TestKey.credentials], gateway: .init(endpointOverride: apns.ready.url), limits: limits)
      let client = APNsClient(configuration: configuration, metrics: Metrics(), log: .silent)
      defer { client.close() }
      #expect(await client.outcomes(1...2).allSatisfy(\.isNotProcessed))
      #expect(try await apns.ledger().received == 0)
    }
  }
}
