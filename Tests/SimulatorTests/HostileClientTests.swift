import EventLoop
import Telemetry
import TestSupport
import Testing

@testable import Simulator

/// Clients that take and do not give.
struct HostileClientTests {
  @Test(arguments: ["pings", "requests"])
  func `a client that never reads is not read either, until it does`(frames: String) async throws {
    let simulator = try await SimulatedGateway(initialStreams: 1000)
    let limit = 64 << 20
    try await blocking {
      let client = try FloodingClient(port: simulator.ready.port)
      let taken = try client.flood(upTo: limit) { number in
        frames == "pings" ? Frame.bytes(.ping, [UInt8](repeating: 0, count: 8)) : Frame.request(number)
      }
      #expect(taken < limit, "the simulator reads \(frames) whose answers nobody takes")
      try client.ping("the last")
    }
    #expect(try await simulator.push().hasPrefix("HTTP/2 200"))
  }

  @Test func `trailers belong to their request`() async throws {
    let simulator = try await SimulatedGateway(initialStreams: 1000)
    let frames = try await simulator.pushes(5, trailer: "apns-topic: other")
    #expect(frames.count(of: ":status: 200") == 5)
    let ledger = try await simulator.ledger()
    #expect(ledger.received == 5 && ledger.accepted == 5)
  }

  @Test func `the connections that wait longest for a handshake are closed`() async throws {
    let simulator = try await SimulatedGateway()
    let (port, limit) = (simulator.ready.port, await Gateway.maximumHandshakes)
    let first = try SilentClient(port: port)
    let others = try (0..<limit + 50).map { _ in try SilentClient(port: port) }
    #expect(try await blocking { try first.wire.readToEnd() }.isEmpty)
    try await eventually("only as many are open as may be") {
      try await simulator.ledger().openConnections == limit
    }
    #expect(try await simulator.push().hasPrefix("HTTP/2 200"))
    withExtendedLifetime(others) {}
  }

  @Test @EventLoop func `a handshake that takes too long ends the connection`() async throws {
    let directory = try TemporaryDirectory()
    let arguments = try Arguments(parsing: ["--dir", directory.path])
    let gateway = try Service(arguments, log: .silent).gateway
    gateway.settings.handshakeTime = .milliseconds(1)
    let port = try gateway.start(arguments.listen, .pushes)
    let answer = try await blocking { try Wire(port: port).readToEnd() }
    #expect(answer.isEmpty)
    try await eventually("the connection is closed") { gateway.openConnections == 0 }
  }
}

/// Connects and says nothing.
private final class SilentClient: Sendable {
  let wire: Wire

  init(port: Int) throws {
    wire = try Wire(port: port)
  }
}
