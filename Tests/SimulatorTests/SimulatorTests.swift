import Foundation
import TestSupport
import Testing

@testable import Simulator

/// The program itself, with curl and nghttp as its clients.
@Suite(.serialized)
struct SimulatorTests {
  private static let shared = Task { try await SimulatedGateway(initialStreams: 1000, isLikeApple: false) }
  private let simulator: SimulatedGateway

  init() async throws {
    simulator = try await Self.shared.value
    try await simulator.reset()
  }

  @Test func `a push is accepted, its id echoed and found in the ledger`() async throws {
    let id = "123E4567-e89b-12d3-a456-426614174000"
    for _ in 1...2 {
      let answer = try await simulator.push(RequestHead.token, "-H", "apns-id: \(id)", "-H", "apns-collapse-id: c")
      #expect(answer.hasPrefix("HTTP/2 200"))
      #expect(answer.contains("apns-id: \(id)"))
    }
    let ledger = try await simulator.ledger()
    #expect(ledger.accepted == 2 && ledger.distinct == 1 && ledger.duplicates == 1 && ledger.connections == 2)
    #expect(try await simulator.control("/ledger/ids").hasPrefix("\(id.lowercased()) 2 "))
    #expect(try await simulator.control("/ledger/id/\(id)").contains("\"count\":2"))
    let recent = try await simulator.control("/ledger/recent?n=1")
    #expect(recent.contains("\"collapseId\":\"c\"") && recent.contains("\"payloadBytes\":10"))
    #expect(try await simulator.control("/metrics").contains("apns_simulator_duplicates 1"))
  }

  @Test func `refusals carry Apple's status, reason and an id`() async throws {
    let bad = try await simulator.push("xyz")
    #expect(bad.hasPrefix("HTTP/2 400") && bad.contains("apns-id: ") && bad.hasSuffix(#"{"reason":"BadDeviceToken"}"#))
    let nobody = try await simulator.push(String(repeating: "0", count: 64))
    #expect(nobody.hasPrefix("HTTP/2 400") && nobody.hasSuffix(#"{"reason":"BadDeviceToken"}"#))
    let large = try await simulator.push(body: "{\"a\":\"\(String(repeating: "x", count: 70_000))\"}")
    #expect(large.hasPrefix("HTTP/2 413") && large.hasSuffix(#"{"reason":"PayloadTooLarge"}"#))
    #expect(try await simulator.push(body: "").hasSuffix(#"{"reason":"PayloadEmpty"}"#))
    #expect(try await simulator.push(body: "hello").hasSuffix(#"{"reason":"BadPayload"}"#))
    let ledger = try await simulator.ledger()
    #expect(ledger.received == 5 && ledger.accepted == 0 && ledger.byStatus == ["200": 0, "400": 4, "413": 1])
  }

  @Test func `a device can be set to refuse`() async throws {
    let token = RequestHead.token
    try await simulator.control("/devices", "-d", #"{"token":"\#(token)","rule":"unregistered","since":1700000000000}"#)
    let gone = try await simulator.push()
    #expect(gone.hasPrefix("HTTP/2 410"))
    #expect(gone.hasSuffix(#"{"reason":"Unregistered","timestamp":1700000000000}"#))
    try await simulator.control(
      "/devices", "-d",
      #"[{"token":"\#(token)","rule":"fixed","status":429,"reason":"TooManyRequests","retryAfter":9}]"#)
    #expect(try await simulator.push().contains("retry-after: 9"))
    try await simulator.clearDevices()
    #expect(try await simulator.push().hasPrefix("HTTP/2 200"))
    let odd = try await simulator.control("/devices", "--no-fail-with-body", "-d", #"{"token":"a","rule":"odd"}"#)
    #expect(odd.contains("unknown rule"))
  }

  @Test func `before its first valid provider token a connection has one stream`() async throws {
    try await simulator.settings(#"{"initialStreams":1,"maxStreams":50}"#)
    let frames = try await simulator.pushes(20)
    let first = try #require(frames.firstRange(of: "MAX_CONCURRENT_STREAMS(0x03):1]"))
    let second = try #require(frames.firstRange(of: "MAX_CONCURRENT_STREAMS(0x03):50]"))
    #expect(first.lowerBound < second.lowerBound)
    // Pushes that came too early were refused, not processed.
    let ledger = try await simulator.ledger()
    #expect(ledger.accepted == frames.count(of: ":status: 200"))
    #expect(ledger.accepted >= 1)
  }

  @Test func `a goaway names the pushes that were processed, and they are answered`() async throws {
    try await simulator.fault(#"{"kind":"goaway","every":3,"count":1}"#)
    let frames = try await simulator.pushes(6)
    #expect(frames.count(of: ":status: 200") == 3)
    #expect(frames.contains("last_stream_id=5, error_code=NO_ERROR"))
    let ledger = try await simulator.ledger()
    #expect(ledger.received == 3 && ledger.goaways == 1)
  }

  @Test func `an abrupt goaway leaves processed pushes without an answer`() async throws {
    try await simulator.fault(#"{"kind":"goaway","every":4,"count":1,"abrupt":true,"unanswered":2}"#)
    let frames = try await simulator.pushes(6)
    #expect(frames.count(of: ":status: 200") == 2)
    #expect(frames.contains("last_stream_id=7"))
    #expect(try await simulator.ledger().received == 4)
  }

  @Test(arguments: [true, false])
  func `a stream is reset with or without its push being processed`(processed: Bool) async throws {
    try await simulator.fault(#"{"kind":"reset","every":2,"code":8,"processed":\#(processed)}"#)
    let frames = try await simulator.pushes(4)
    #expect(frames.count(of: "recv RST_STREAM") == 2 && frames.count(of: "error_code=CANCEL(0x08)") == 2)
    let ledger = try await simulator.ledger()
    #expect(ledger.received == (processed ? 4 : 2) && ledger.resets == 2)
  }

  @Test func `a dropped connection sends no more answers`() async throws {
    try await simulator.fault(#"{"kind":"drop","after":2,"count":1}"#)
    #expect(try await simulator.pushes(5).contains("not processed"))
    let ledger = try await simulator.ledger()
    #expect(ledger.received == 2 && ledger.drops == 1)
    #expect(try await simulator.push().hasPrefix("HTTP/2 200"))
  }

  @Test func `a stalled push is processed and never answered`() async throws {
    try await simulator.fault(#"{"kind":"stall","every":2,"processed":true}"#)
    #expect(try await simulator.pushes(4, answers: 2).count(of: ":status: 200") == 2)
    #expect(try await simulator.ledger().received == 4)
  }

  @Test func `a status is forced a number of times`() async throws {
    try await simulator.fault(#"{"kind":"status","status":403,"count":1}"#)
    #expect(try await simulator.push().hasSuffix(#"{"reason":"ExpiredProviderToken"}"#))
    #expect(try await simulator.push().hasPrefix("HTTP/2 200"))
  }

  @Test func `early answers, added time and a small stream limit lose nothing`() async throws {
    try await simulator.fault(#"{"kind":"early"}"#)
    #expect(try await simulator.pushes(20).count(of: ":status: 200") == 20)
    try await simulator.clearFaults()
    try await simulator.settings(#"{"rttMs":20,"maxStreams":100}"#)
    #expect(try await simulator.pushes(20).count(of: ":status: 200") == 20)
    #expect(try await simulator.ledger().accepted == 40)
  }

  @Test func `a connection that a fault left without service is served when the fault is removed`() async throws {
    try await simulator.fault(#"{"kind":"acceptStall"}"#)
    async let answer = simulator.push()
    try await eventually("the connection waits") { try await simulator.ledger().connections == 1 }
    #expect(try await simulator.ledger().received == 0)
    try await simulator.clearFaults()
    #expect(try await answer.hasPrefix("HTTP/2 200"))
  }

  @Test func `malformed TLS or HTTP/2 does not affect other connections`() async throws {
    let plain = try ChildProcess(
      "curl", ["-sS", "http://127.0.0.1:\(simulator.ready.port)/"])
    try await plain.exit()
    let old = try ChildProcess("curl", ["-sSk", "--http1.1", simulator.ready.url])
    try await old.exit()
    #expect(plain.exitCode != 0 && old.exitCode != 0)
    #expect(try await simulator.push().hasPrefix("HTTP/2 200"))
  }

  @Test func `without its provider token a push is forbidden`() async throws {
    let answer = try await ChildProcess.run(
      "curl", ["-sSk", "--http2", "-d", "{}", "\(simulator.ready.url)/3/device/\(RequestHead.token)"])
    #expect(answer == #"{"reason":"MissingProviderToken"}"#)
  }

  @Test func `a second provider token is refused on any connection while updates are limited`() async throws {
    try await simulator.settings(#"{"tokenUpdateSeconds":1200}"#)
    let path = try #require(simulator.ready.keyPath)
    let other = try ProviderTokenSigner(path: path)
      .authorization(issuedAt: Int64(Date().timeIntervalSince1970) - 60)
    let url = "\(simulator.ready.url)/3/device/\(RequestHead.token)"
    func answer(to authorization: String) async throws -> String {
      try await ChildProcess.run(
        "curl",
        ["-sSk", "--http2", "-d", "{}", "-H", "apns-topic: a", "-H", "authorization: \(authorization)", url])
    }
    let first = try simulator.authorization
    #expect(try await answer(to: first) == "")
    #expect(try await answer(to: other) == #"{"reason":"TooManyProviderTokenUpdates"}"#)
    #expect(try await answer(to: first) == "", "the older token stays valid")
    #expect(try await simulator.ledger().providerTokens == 1)
    try await simulator.settings(#"{"tokenUpdateSeconds":0}"#)
    #expect(try await answer(to: other) == "")
  }

  @Test func `a key from the command line is used, and no other is made`() async throws {
    let key = try #require(simulator.ready.keyPath)
    let directory = try TemporaryDirectory()
    let own = try ChildProcess(
      try builtProduct("apns-simulator"),
      ["--dir", directory.path, "--public-key", key, "--key-id", "KEY1234567", "--team-id", "TEAM123456"])
    let line = try await own.line("its ready line") { $0.hasPrefix("{") }
    #expect(!line.contains("keyPath") && line.contains(#""keyId":"KEY1234567","teamId":"TEAM123456""#))
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() == ["ca.pem", "provider.env"])
    try await own.stop()
  }

  @Test func `a temporary directory is removed at the end`() async throws {
    let own = try ChildProcess(try builtProduct("apns-simulator"))
    let line = try await own.line("its ready line") { $0.hasPrefix("{") }
    let ready = try JSONDecoder().decode(SimulatedGateway.Ready.self, from: Data(line.utf8))
    #expect(FileManager.default.fileExists(atPath: ready.caCertificate))
    #expect(try await own.stop() == 0)
    #expect(!FileManager.default.fileExists(atPath: ready.dir))
  }

  @Test func `it leaves a worker's settings behind and ends with 0 on SIGTERM`() async throws {
    let own = try await SimulatedGateway()
    let settings = try String(contentsOfFile: "\(own.directory)/provider.env", encoding: .utf8)
    #expect(settings.contains("APNS_ENDPOINT_OVERRIDE=\(own.ready.url)\n"))
    #expect(settings.contains("APNS_KEY_PATH=\(own.ready.keyPath ?? "-")\n"))
    #expect(try await own.process.stop() == 0)
  }

  @Test func `a SIGTERM right after the ready line ends it with 0`() async throws {
    for _ in 0..<20 {
      let own = try await SimulatedGateway()
      #expect(try await own.process.stop() == 0)
    }
  }

  @Test func `its certificate is valid for the names that it is given`() async throws {
    let own = try await SimulatedGateway(["--name", "gateway.example", "--name", "gateway"])
    let authority = "\(own.directory)/ca.pem"
    let port = try #require(own.ready.url.split(separator: ":").last)
    for (name, code) in [("gateway", 0 as Int32), ("gateway.example", 0), ("localhost", 0), ("other", 60)] {
      let curl = try ChildProcess(
        "curl",
        [
          "-sS", "--http2", "--cacert", authority, "--resolve", "\(name):\(port):127.0.0.1", "https://\(name):\(port)/",
        ])
      #expect(try await curl.exit() == code, "\(name)")
    }
    #expect(try await own.process.stop() == 0)
  }

  @Test func `an invalid command line exits with 2 and an error`() async throws {
    let process = try ChildProcess(try builtProduct("apns-simulator"), ["--rtt", "soon"])
    #expect(try await process.exit() == 2)
    #expect(process.lines.first?.contains("--rtt takes a whole number from 0 to 600000") == true)
  }
}
