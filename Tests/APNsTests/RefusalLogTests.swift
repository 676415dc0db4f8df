import EventLoop
import Telemetry
import TestSupport
import Testing

@testable import APNs

@EventLoop
struct RefusalLogTests {
  private static let throttled = APNsAnswer(status: 429, reason: "TooManyRequests")
  private let lines = LogLines()

  @Test func `each refusal is logged at debug, without the whole token`() {
    let refusals = RefusalLog(log: lines.log)
    for number in 1...3 { refusals.record(TestPush.make(number), Self.throttled) }
    let said = lines.all(containing: "\"level\":\"debug\"")
    #expect(said.count == 3)
    #expect(said.allSatisfy { $0.contains("abababab…") && !$0.contains(TestPush.token) })
    for part in ["TooManyRequests", "429", "com.example.demo", TestPush.id(1)] { #expect(said[0].contains(part)) }
  }

  @Test func `the first refusal of a reason and topic is logged at warn, then a count per interval`() async throws {
    let refusals = RefusalLog(log: lines.log, interval: .milliseconds(50))
    func warnings() -> [String] { lines.all(containing: "\"level\":\"warn\"") }
    for number in 1...100 { refusals.record(TestPush.make(number), Self.throttled) }
    #expect(warnings().count == 1)
    refusals.record(TestPush.make(topic: "com.other"), Self.throttled)
    refusals.record(TestPush.make(), APNsAnswer(status: 503, reason: "ServiceUnavailable"))
    #expect(warnings().count == 3)
    while warnings().count < 4 { try await Task.sleep(for: .milliseconds(5)) }
    #expect(warnings().last?.contains("\"count\":99") == true)
    try await Task.sleep(for: .milliseconds(100))
    #expect(warnings().count == 4)
    refusals.tick()
    refusals.record(TestPush.make(), Self.throttled)
    #expect(warnings().count == 5)
    #expect(warnings().last?.contains("\"count\":1}") == true)
  }

  @Test func `a push that was not sent is not logged as one that APNs has refused`() {
    let refusals = RefusalLog(log: lines.log)
    for _ in 1...2 { refusals.record(TestPush.make(token: "x"), APNsAnswer(unsent: "NotAnAPNsToken")) }
    #expect(lines.count(containing: "A push was not sent") == 2)
    #expect(lines.count(containing: "Pushes are invalid and were not sent") == 1)
    #expect(lines.count(containing: "APNs refuse") == 0)
  }

  @Test func `too many reasons and topics are counted in one line`() {
    let refusals = RefusalLog(log: lines.log)
    for number in 1...5000 {
      refusals.record(TestPush.make(topic: "com.app\(number)"), APNsAnswer(status: 400, reason: "R\(number)"))
    }
    #expect(lines.count(containing: "APNs refuses pushes") == RefusalLog.maximumKinds + 1)
  }
}

extension SimulatorTests {
  @Suite @EventLoop
  struct RefusalLineTests {
    let apns: SimulatedGateway

    init() async throws {
      apns = try await SimulatedGateway.shared.value
      try await apns.reset()
    }

    @Test(arguments: [400, 404, 410, 413, 429, 500, 503]) func `a refusal is logged`(status: Int) async throws {
      try await apns.fault(#"{"kind":"status","status":\#(status),"reason":"Unheard","count":10}"#)
      let lines = LogLines()
      let client = try apns.client(log: lines.log)
      defer { client.close() }
      #expect(await client.outcomes(1...12).count(where: \.isAccepted) == 2)
      #expect(lines.count(containing: "APNs refused a push") == 10)
      let loud = lines.all(containing: "\"reason\":\"Unheard\"").filter { !$0.contains("\"level\":\"debug\"") }
      #expect(loud.count == 1)
    }
  }
}
