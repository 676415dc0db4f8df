import EventLoop
import Telemetry
import TestSupport
import Testing

@testable import APNs
@testable import PushModel

extension SimulatorTests {
  /// A connection that goes bad while others work, one device that is refused while others are accepted, and a gateway that is slow.
  @Suite @EventLoop
  struct BadConnectionTests {
    struct Refusal: Sendable, CustomTestStringConvertible {
      let status: Int
      let reason: String
      var testDescription: String { reason }
      /// The provider tokens of a process that gets it.
      var tokens: Int { ["ExpiredProviderToken", "InvalidProviderToken"].contains(reason) ? 2 : 1 }
      var fault: String { #""kind":"status","status":\#(status),"reason":"\#(reason)""# }
    }

    /// What does not speak of a device.
    nonisolated static let refusals =
      [
        Refusal(status: 500, reason: "InternalServerError"), Refusal(status: 503, reason: "ServiceUnavailable"),
        Refusal(status: 429, reason: "TooManyProviderTokenUpdates"), Refusal(status: 400, reason: "TopicDisallowed"),
        Refusal(status: 400, reason: "BadTopic"),
      ] + providerRefusals

    nonisolated static let providerRefusals = [
      "ExpiredProviderToken", "InvalidProviderToken", "MissingProviderToken", "BadEnvironmentKeyIdInToken",
      "BadEnvironmentKeyInToken", "UnrelatedKeyIdInToken", "BadCertificate", "BadCertificateEnvironment", "Forbidden",
      "TopicMismatch", "NeverHeardOf",
    ].map { Refusal(status: 403, reason: $0) }

    let apns: SimulatedGateway
    let lines = LogLines()

    init() async throws {
      apns = try await SimulatedGateway.shared.value
      try await apns.reset()
      try await SimulatedGateway.beginOfTokenWindow()
    }

    private func client(_ change: (inout APNsConfiguration.Limits) -> Void = { _ in }) throws -> APNsClient {
      try apns.client(
        {
          $0.probeInterval = .milliseconds(200)
          // On a slow machine a test may take longer than these.
          $0.minimumDrainInterval = .seconds(3600)
          $0.minimumReplacementInterval = .seconds(3600)
          $0.quietBeforePing = .seconds(3600)
          change(&$0)
        }, most: 1, log: lines.log)
    }

    /// Sends one push to each of these devices, one after the other.
    private func answers(_ numbers: ClosedRange<Int>, from client: APNsClient) async -> [SendOutcome] {
      var outcomes: [SendOutcome] = []
      for number in numbers {
        outcomes.append(await outcome(of: number, to: Self.token(number), from: client))
      }
      return outcomes
    }

    private func outcome(of number: Int, to token: String, from client: APNsClient) async -> SendOutcome {
      await client.outcome { TestPush.make(number, token: token, completion: $0) }
    }

    private static func token(_ number: Int) -> String {
      let digits = String(number, radix: 16)
      return String(repeating: "0", count: 64 - digits.count) + digits
    }

    private var minted: Int { lines.count(containing: "provider token minted") }

    // MARK: - One connection

    @Test(arguments: refusals)
    func `a connection that goes bad is replaced by one other, and no token is minted that cannot help`(
      refusal: Refusal
    ) async throws {
      let client = try client()
      defer { client.close() }
      #expect(await answers(1...10, from: client).allSatisfy(\.isAccepted))
      try await apns.fault("{\(refusal.fault),\"open\":true}")
      var number = 10
      try await eventually("another connection is used") {
        number += 1
        return await answers(number...number, from: client)[0].isAccepted
      }
      #expect(await answers(1001...1020, from: client).allSatisfy(\.isAccepted))
      #expect(client.pausedRoutes.isEmpty)
      #expect(client.instruments.connections.value == 2)
      #expect(minted == refusal.tokens)
    }

    /// `BadTopic` speaks of a job when another connection says it, too.
    @Test(arguments: refusals.filter { $0.reason != "BadTopic" })
    func `a gateway that refuses everything is paused, with at most one more connection and one more token`(
      refusal: Refusal
    ) async throws {
      let client = try client { $0.probeInterval = .seconds(600) }
      defer { client.close() }
      #expect(await answers(1...10, from: client).allSatisfy(\.isAccepted))
      try await apns.fault("{\(refusal.fault)}")
      var number = 10
      try await eventually("paused") {
        number += 1
        _ = await answers(number...number, from: client)
        return !client.pausedRoutes.isEmpty || client.outage(of: .production) > .zero
      }
      #expect(number <= 10 + GatewayPause.errorsBeforePause)
      #expect(client.instruments.connections.value <= 2)
      #expect(minted == refusal.tokens)
    }

    @Test func `a connection that answers nothing is replaced when a push has waited its time`() async throws {
      let client = try client { $0.requestTimeout = .seconds(2) }
      defer { client.close() }
      var number = 0
      try await eventually("it is connected") {
        number += 1
        return await answers(number...number, from: client)[0].isAccepted
      }
      try await apns.fault(#"{"kind":"stall","open":true}"#)
      try await eventually("another connection is used") {
        number += 1
        return await answers(number...number, from: client)[0].isAccepted
      }
      #expect(lines.count(containing: #""reason":"no_answer""#) >= 1)
    }

    @Test func `a bundle id that was added at Apple is accepted after one probe`() async throws {
      let client = try client()
      defer { client.close() }
      #expect(await client.outcomes(1...10).allSatisfy(\.isAccepted))
      let fault = #""kind":"status","status":400,"reason":"TopicDisallowed","topic":"com.example.new""#
      try await apns.fault("{\(fault),\"open\":true}")
      var number = 10
      try await eventually("the new topic is accepted") {
        number += 1
        return await client.outcomes(number...number, topic: "com.example.new")[0].isAccepted
      }
      #expect(client.instruments.connections.value == 2)
    }

    @Test func `a connection that is older than a bundle id removes no token`() async throws {
      let client = try client()
      defer { client.close() }
      #expect(await client.outcomes(1...1).allSatisfy(\.isAccepted))
      try await apns.settings(#"{"rttMs":300}"#)
      try await apns.fault(#"{"kind":"status","status":400,"reason":"DeviceTokenNotForTopic","count":2}"#)
      async let before = outcome(of: 2, to: Self.token(2), from: client)
      try await client.turns(untilInFlight: 1)
      client.topicsAdded()
      async let after = outcome(of: 3, to: Self.token(3), from: client)
      guard case .answered(let old) = await before, case .answered(let new) = await after else {
        Issue.record("not answered")
        return
      }
      #expect(old.meaning == .failed)
      #expect(new.meaning == .staleToken(unregisteredSince: nil))
      #expect(client.instruments.connections.value == 2)
      #expect(client.routes.known(.production, "com.example.demo")?.guardCounts.suspect == 1)
    }

    // MARK: - One device

    @Test func `a device that is known to be refused proves no provider token`() async throws {
      let bad = Self.token(5)
      try await apns.device(bad, #""rule":"fixed","status":403,"reason":"Forbidden""#)
      let client = try client()
      defer { client.close() }
      #expect(await answers(1...4, from: client).allSatisfy(\.isAccepted))
      _ = await outcome(of: 5, to: bad, from: client)
      #expect(await answers(6...9, from: client).allSatisfy(\.isAccepted))
      client.topicsAdded()
      let outcome = await outcome(of: 10, to: bad, from: client)
      guard case .answered(let answer) = outcome else {
        Issue.record("\(outcome)")
        return
      }
      #expect(answer.meaning == .failed)
      try await apns.settings(#"{"rttMs":300}"#)
      async let others = client.outcomes(11...20)
      try await client.turns(untilInFlight: 1)
      #expect(client.inFlight == 1)
      #expect(await others.allSatisfy(\.isAccepted))
    }

    /// Every reason of Apple's table.
    @Test(arguments: AnswerMeaningTests.table.map { Refusal(status: $0.0, reason: $0.1) })
    func `one device that is refused stops none of the others`(refusal: Refusal) async throws {
      let bad = Self.token(5)
      try await apns.device(bad, #""rule":"fixed","status":\#(refusal.status),"reason":"\#(refusal.reason)""#)
      let client = try client()
      defer { client.close() }
      #expect(await answers(1...4, from: client).allSatisfy(\.isAccepted))
      var last: SendOutcome?
      for round in 1...5 {
        async let refused = outcome(of: 100 + round, to: bad, from: client)
        #expect(await answers((round * 1000)...(round * 1000 + 19), from: client).allSatisfy(\.isAccepted))
        last = await refused
      }
      #expect(client.pausedRoutes.isEmpty && client.outage(of: .production) == .zero)
      #expect(client.instruments.connections.value <= 2)
      guard case .answered(let answer) = last else {
        Issue.record("\(String(describing: last))")
        return
      }
      #expect(answer.reason == refusal.reason)
      // What speaks of key or topic is known to be the device's after a while.
      if answer.status == 403 || answer.reason == "TopicDisallowed" { #expect(answer.meaning == .failed) }
    }

    // MARK: - Slow

    @Test func `a gateway that answers late is waited for, over at most one more connection`() async throws {
      try await apns.settings(#"{"rttMs":1500}"#)
      let client = try client {
        $0.quietBeforePing = .milliseconds(300)
        $0.requestTimeout = patience
      }
      defer { client.close() }
      #expect(await client.outcomes(1...200).allSatisfy(\.isAccepted))
      #expect(await client.outcomes(201...400).allSatisfy(\.isAccepted))
      let ledger = try await apns.ledger()
      #expect(client.instruments.connections.value <= 2)
      #expect(ledger.duplicates == 0)
    }
  }
}
