import EventLoop
import Telemetry
import TestSupport
import Testing

@testable import APNs
@testable import PushModel

extension SimulatorTests {
  /// 403 and TopicDisallowed: renewed, tried once more, paused, probed, resumed.
  @Suite @EventLoop
  struct PausedRouteTests {
    let apns: SimulatedGateway

    init() async throws {
      apns = try await SimulatedGateway.shared.value
      try await apns.reset()
      try await SimulatedGateway.beginOfTokenWindow()
    }

    private static let tokenReasons = ["ExpiredProviderToken", "InvalidProviderToken"]

    private func isPaused(_ outcome: SendOutcome, _ reason: String) -> Bool {
      outcome == .notProcessed("RoutePaused: \(reason)")
        || outcome == .answered(APNsAnswer(status: 403, reason: reason))
    }

    @Test(arguments: ["InvalidProviderToken", "ExpiredProviderToken", "NeverHeardOf", "UnrelatedKeyIdInToken"])
    func `after a 403 the push is sent once more, with another token only if that may help`(reason: String) async throws
    {
      try await apns.fault(#"{"kind":"status","status":403,"reason":"\#(reason)","count":1}"#)
      let lines = LogLines()
      let client = try apns.client(log: lines.log)
      defer { client.close() }
      #expect(await client.outcomes(1...20).allSatisfy(\.isAccepted))
      #expect(try await apns.ledger().received == 21)
      #expect(lines.count(containing: "provider token minted") == (Self.tokenReasons.contains(reason) ? 2 : 1))
      #expect(client.pausedRoutes.isEmpty)
    }

    @Test(arguments: ["ExpiredProviderToken", "InvalidProviderToken", "NeverHeardOf"])
    func `a route that is refused again is paused and logged once with the fix`(reason: String) async throws {
      try await apns.fault(#"{"kind":"status","status":403,"reason":"\#(reason)"}"#)
      let lines = LogLines()
      let client = try apns.client(log: lines.log)
      defer { client.close() }
      #expect(await client.outcomes(1...50).allSatisfy { isPaused($0, reason) })
      #expect(try await apns.ledger().received == 2)
      #expect(await client.outcomes(51...60) == Array(repeating: .notProcessed("RoutePaused: \(reason)"), count: 10))
      #expect(try await apns.ledger().received == 2)
      #expect(lines.count(containing: "provider token minted") == (Self.tokenReasons.contains(reason) ? 2 : 1))
      let said = lines.all(containing: "APNs route paused")
      #expect(said.count == 1)
      #expect(said.first?.contains(PushReason.of(reason).fix) == true)
      let notice = try #require(client.pausedRoutes.first)
      #expect(notice.topic == "com.example.demo")
      #expect(notice.reason == reason)
    }

    @Test func `a paused route is probed once per interval and resumed by an answer`() async throws {
      try await apns.fault(#"{"kind":"status","status":403,"reason":"InvalidProviderToken","count":5}"#)
      let lines = LogLines()
      let metrics = Metrics()
      let interval = Duration.milliseconds(300)
      let client = try apns.client({ $0.probeInterval = interval }, metrics: metrics, log: lines.log)
      defer { client.close() }
      var number = 0
      var accepted = false
      var received = 0
      try await eventually("resumed") {
        number += 20
        let began = ContinuousClock.now
        let outcomes = await client.outcomes((number - 19)...number)
        accepted = outcomes.contains(where: \.isAccepted)
        if !accepted {
          #expect(metrics.prometheusText().contains("martlet_apns_paused_routes{environment=\"production\",topic="))
        }
        let now = try await apns.ledger().received
        // The first round tries twice; after that it is one push per probe, until it is answered. A slow round has several.
        let probes = 1 + Int((ContinuousClock.now - began) / interval)
        #expect(accepted || now - received <= probes + (received == 0 ? 1 : 0))
        received = now
        return accepted
      }
      #expect(await client.outcomes(10_001...10_050).allSatisfy(\.isAccepted))
      #expect(client.pausedRoutes.isEmpty)
      #expect(lines.count(containing: "APNs route paused") == 1)
      #expect(lines.count(containing: "APNs route resumed") == 1)
      #expect(lines.count(containing: "provider token minted") == 2)
      #expect(!metrics.prometheusText().contains("martlet_apns_paused_routes{"))
    }

    @Test func `a topic that is not allowed pauses its own route only`() async throws {
      try await apns.settings(#"{"topics":["com.good"]}"#)
      let client = try apns.client { $0.probeInterval = .milliseconds(300) }
      defer { client.close() }
      let refused = SendOutcome.answered(.init(status: 400, reason: "TopicDisallowed"))
      #expect(await client.outcomes(1...1, topic: "com.bad") == [refused])
      // On a slow machine it may be a probe.
      let second = await client.outcomes(2...2, topic: "com.bad")[0]
      #expect(second == .notProcessed("RoutePaused: TopicDisallowed") || second == refused)
      #expect(await client.outcomes(3...20, topic: "com.good").allSatisfy(\.isAccepted))
      #expect(client.pausedRoutes.map(\.topic) == ["com.bad"])
      try await apns.settings(#"{"topics":[]}"#)
      try await eventually("resumed") { await client.outcomes(21...21, topic: "com.bad")[0].isAccepted }
      #expect(await client.outcomes(22...30, topic: "com.bad").allSatisfy(\.isAccepted))
    }

    @Test func `a single device that gets 403 does not pause its route`() async throws {
      let lonely = String(repeating: "cd", count: 32)
      try await apns.device(lonely, #""rule":"fixed","status":403,"reason":"Forbidden""#)
      let client = try apns.client()
      defer { client.close() }
      for round in 1...20 {
        // Before a push is accepted a connection takes one at a time, so device and route cannot be distinguished.
        #expect(await client.outcomes((round * 20 + 19)...(round * 20 + 19)).allSatisfy(\.isAccepted))
        var refused: SendOutcome?
        client.send(TestPush.make(1000 + round, token: lonely) { refused = $0 })
        #expect(await client.outcomes((round * 20)...(round * 20 + 18)).allSatisfy(\.isAccepted))
        try await eventually("answered") { refused != nil }
        guard case .answered(let answer) = refused else {
          Issue.record("\(String(describing: refused))")
          return
        }
        #expect(answer.reason == "Forbidden")
        // Others were accepted meanwhile: the next attempt is the last.
        #expect(answer.meaning == (round == 1 ? .forbidden : .failed))
      }
      #expect(client.pausedRoutes.isEmpty)
    }

    @Test func `a route that is always refused closes no connection of others`() async throws {
      let refused = String(repeating: "cd", count: 32)
      try await apns.device(refused, #""rule":"fixed","status":403,"reason":"InvalidProviderToken""#)
      let lines = LogLines()
      let client = try apns.client({ $0.probeInterval = .milliseconds(50) }, most: 1, log: lines.log)
      defer { client.close() }
      for round in 1...20 {
        _ = await client.outcome { TestPush.make(round, token: refused, topic: "com.refused", completion: $0) }
        #expect(await client.outcomes((round * 100)...(round * 100 + 9)).allSatisfy(\.isAccepted))
      }
      #expect(client.pausedRoutes.map(\.topic) == ["com.refused"])
      #expect(lines.count(containing: "provider token minted") == 2)
      #expect(client.instruments.connections.value == 2, "one more with the renewed token")
    }

    @Test func `a device that asks for another connection each time closes only one`() async throws {
      let device = String(repeating: "cd", count: 32)
      try await apns.device(device, #""rule":"fixed","status":503,"reason":"Shutdown""#)
      // Pushes that wait on a slow machine open no other connection.
      let client = try apns.client({ $0.minimumDrainInterval = .seconds(3600) }, most: 1)
      defer { client.close() }
      for round in 1...10 {
        let outcome = await client.outcome { TestPush.make(round, token: device, completion: $0) }
        #expect(outcome == .answered(.init(status: 503, reason: "Shutdown")))
        #expect(await client.outcomes((round * 100)...(round * 100 + 9)).allSatisfy(\.isAccepted))
      }
      #expect(client.instruments.connections.value == 2)
    }

    @Test func `the list of paused routes is limited`() async throws {
      try await apns.settings(#"{"topics":["com.good"]}"#)
      let client = try apns.client()
      defer { client.close() }
      for number in 1...30 { _ = await client.outcomes(number...number, topic: "com.bad\(number)") }
      #expect(client.pausedRoutes.count == RouteNotice.maximumListed)
    }
  }
}
