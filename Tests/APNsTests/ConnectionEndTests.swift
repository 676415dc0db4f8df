import EventLoop
import PushModel
import Telemetry
import TestSupport
import Testing

@testable import APNs

struct ConnectionEndTests {
  private static func goaway(_ code: UInt32, _ data: String) -> ConnectionEnd {
    ConnectionEnd(goaway: code, data: Array(data.utf8))
  }

  // MARK: - Reasons

  @Test(arguments: [
    (0, #"{"reason":"Shutdown"}"#, "Shutdown", LogLevel.info), (0, #"{"reason":"IdleTimeout"}"#, "IdleTimeout", .info),
    (0, "", "NO_ERROR", .info), (0, #"{"reason":"BadCertificateEnvironment"}"#, "BadCertificateEnvironment", .warn),
    (7, "Maximum active streams violated for this endpoint.", "REFUSED_STREAM", .warn),
    (11, "too_many_rst", "ENHANCE_YOUR_CALM", .warn), (13, "", "HTTP_1_1_REQUIRED", .warn), (14, "", "other", .warn),
    (UInt32.max, #"{"reason":"Shutdown"}"#, "Shutdown", .info), (UInt32.max, #"{"reason":"Made up"}"#, "other", .warn),
  ])
  func `a GOAWAY is named by its known reason, else by its code`(
    code: UInt32, data: String, reason: String, level: LogLevel
  ) {
    let end = Self.goaway(code, data)
    #expect(end.reason == reason)
    #expect(end.level == level)
  }

  @Test func `texts from outside make no new reasons, and are short and printable`() {
    var reasons: Set<String> = []
    for number in 0..<1000 {
      for data in [#"{"reason":"R\#(number)"}"#, "\u{1B}[2J\n\(number)" + String(repeating: "x", count: 5000)] {
        let end = Self.goaway(UInt32(number), data)
        reasons.insert(end.reason)
        #expect(end.text.utf8.count < 250)
        #expect(end.text.utf8.allSatisfy { (0x20..<0x7F).contains($0) })
      }
      reasons.insert(ConnectionEnd.answered("R\(number)").reason)
      reasons.insert(ConnectionEnd.lost("R\(number)").reason)
    }
    #expect(reasons.count == 16, "14 codes, no_goaway and other: \(reasons)")
  }

  @Test func `a GOAWAY says more than the end of the socket, and one with a reason more than one without`() {
    let (plain, named) = (Self.goaway(0, ""), Self.goaway(0, #"{"reason":"Shutdown"}"#))
    #expect(named.says(moreThan: plain))
    #expect(!plain.says(moreThan: named))
    #expect(named.says(moreThan: .lost("closed by the server")))
    #expect(!ConnectionEnd.lost("closed by the server").says(moreThan: named))
    #expect(!named.says(moreThan: .keyChanged))
  }

  // MARK: - Frames

  private static func frame(_ type: UInt8, _ payload: [UInt8]) -> [UInt8] {
    [0, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF), type, 0, 0, 0, 0, 0] + payload
  }

  @Test(arguments: [#"{"reason":"BadCertificate"}"#, "", String(repeating: "x", count: 10_000)])
  func `the code and the data of a GOAWAY are read`(data: String) throws {
    let session = try HTTP2Session(authority: "a.example")
    #expect(session.takeGoaway() == nil)
    let bytes = Self.frame(4, []) + Self.frame(7, [0, 0, 0, 0, 0, 0, 0, 11] + Array(data.utf8))
    try session.receive(bytes[...])
    #expect(session.takeGoaway() == Self.goaway(11, data))
    #expect(session.takeGoaway() == nil)
  }

  // MARK: - Log and metric

  @Test @EventLoop func `each end is counted, and logged loudly once a minute for each reason`() throws {
    let (lines, metrics) = (LogLines(), Metrics())
    let ends = ConnectionEnds(metrics: metrics, log: lines.log)
    let origin = try Origin("https://apns.example")
    let minute = 60_000_000_000 as UInt64
    for now in [1, 2, minute, minute + 1] {
      ends.record(.lost("closed by the server"), origin: origin, seconds: 9, now: now)
    }
    #expect(lines.count(containing: #""level":"warn""#) == 2)
    #expect(lines.count(containing: #""level":"debug""#) == 2)
    let fields = #""reason":"no_goaway","cause":"closed by the server","origin":"\#(origin.url)","seconds":9}"#
    #expect(lines.count(containing: fields) == 4)
    #expect(metrics.prometheusText().contains(#"martlet_apns_connection_ends_total{reason="no_goaway"} 4"#))
    #expect(ends.latest?.reason == "no_goaway")
    ends.record(.closed, origin: origin, seconds: 9, now: minute)
    #expect(lines.lines.last?.contains(#""level":"debug""#) == true)
    #expect(ends.latest?.reason == "no_goaway", "its own end says nothing about a gateway")
  }
}

extension SimulatorTests {
  @Suite @EventLoop
  struct ConnectionEndFaultTests {
    let apns: SimulatedGateway

    init() async throws {
      apns = try await SimulatedGateway.shared.value
      try await apns.reset()
    }

    @Test(arguments: [("goaway", "Shutdown", "info"), ("drop", "no_goaway", "warn")])
    func `a connection that APNs ends is logged and counted once, with its cause`(
      fault: String, reason: String, level: String
    ) async throws {
      let (lines, metrics) = (LogLines(), Metrics())
      try await apns.fault(#"{"kind":"\#(fault)","every":5,"count":1}"#)
      let client = try apns.client(metrics: metrics, log: lines.log(level: .info))
      defer { client.close() }
      #expect(await client.outcomes(1...20).contains(where: \.isAccepted))
      let count = #"martlet_apns_connection_ends_total{reason="\#(reason)"} 1"#
      try await eventually("it is counted") { metrics.prometheusText().contains(count) }
      let ends = lines.all(containing: "APNs connection ended")
      #expect(ends.count == 1)
      #expect(ends.first?.contains(#""level":"\#(level)""#) == true)
      #expect(ends.first?.contains(#""reason":"\#(reason)""#) == true)
    }
  }
}
