import EventLoop
import Foundation
import Telemetry
import TestSupport
import Testing

@testable import APNs
@testable import PushModel

extension SimulatorTests {
  /// One environment cannot be reached; the other is the simulator.
  @Suite @EventLoop
  struct EnvironmentOutageTests {
    @EventLoop
    private final class Announced {
      var isServing: [Bool] = []
    }

    let apns: SimulatedGateway

    init() async throws {
      apns = try await SimulatedGateway.shared.value
      try await apns.reset()
    }

    private func client(production: String) throws -> APNsClient {
      try apns.client({ $0.outagePatience = .seconds(1) }, production: production)
    }

    private func outcomes(_ client: APNsClient, _ numbers: ClosedRange<Int>) async -> [SendOutcome] {
      var outcomes: [SendOutcome] = []
      for number in numbers {
        outcomes.append(await client.outcome { TestPush.make(number, environment: .sandbox, completion: $0) })
      }
      return outcomes
    }

    @Test func `while the default gateway cannot be reached the other one is opened and used`() async throws {
      let client = try client(production: "https://127.0.0.1:\(try freePort())")
      defer { client.close() }
      client.start()
      try await eventually("the sandbox stands by") { client.isConnected }
      #expect(!client.isServing, "no push was sent to it")
      #expect(await outcomes(client, 1...5).allSatisfy(\.isAccepted))
      #expect(client.isServing)
      #expect(await client.outcomes(6...10).allSatisfy(\.isNotProcessed))
    }

    @Test func `pushes that are submitted while others end for want of a connection end too`() async throws {
      let client = try client(production: "https://127.0.0.1:\(try freePort())")
      defer { client.close() }
      client.start()
      #expect(await client.outcomes(1...5).allSatisfy(\.isNotProcessed))
      // Each is submitted by the completion of the one before.
      let run = PushRun(of: 50) { client }
      await run.run(atOnce: 5)
      #expect(run.accepted == 0)
    }

    @Test func `the return of the default gateway is announced although the other one is open`() async throws {
      let stalling = try await SimulatedGateway()
      try await stalling.fault(#"{"kind":"acceptStall"}"#)
      let client = try apns.client(
        {
          $0.outagePatience = .milliseconds(100)
          $0.connectTimeout = .seconds(3)
        }, trusting: try String(contentsOfFile: stalling.ready.caCertificate, encoding: .utf8),
        production: stalling.ready.url)
      defer { client.close() }
      let announced = Announced()
      client.onStateChange = { [unowned client] in announced.isServing.append(client.isServing) }
      client.start()
      try await eventually("the sandbox stands by") { client.isConnected }
      #expect(announced.isServing == [false])
      try await stalling.clearFaults()
      try await eventually("the return is announced") { announced.isServing == [false, true] }
    }

    @Test(arguments: ["accepts and is silent", "speaks TLS and is silent"])
    func `the pushes of a gateway that sends nothing end before their deadline`(kind: String) async throws {
      // Only the time limit of the handshake detects the first, and only the watchdog the second.
      let silent = try await SimulatedGateway()
      if kind == "accepts and is silent" { try await silent.fault(#"{"kind":"acceptStall"}"#) }
      let server = try await TLSServer(alpn: "h2")
      let origin = kind == "accepts and is silent" ? silent.ready.url : "https://127.0.0.1:\(server.port)"
      let client = try apns.client(
        {
          $0.outagePatience = .seconds(1)
        }, trusting: server.authority,
        production: origin)
      defer { client.close() }
      #expect(await client.outcomes(1...10).allSatisfy(\.isNotProcessed))
      // On a slow machine the first connection takes longer than a push of this client waits.
      var number = 10
      try await eventually("the other gateway takes pushes") {
        number += 1
        return await outcomes(client, number...number)[0].isAccepted
      }
    }
  }
}
