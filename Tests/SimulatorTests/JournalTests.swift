import Foundation
import TestSupport
import Testing

@testable import Simulator

struct JournalTests {
  private func line(_ answer: Answer?, _ effect: FaultEffect) -> String {
    let head = RequestHead(changing: [
      ":path": "/3/device/00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0",
      "apns-id": "00000000-0000-0000-0000-000000000001", "apns-collapse-id": "c",
    ])
    let entry = JournalEntry(arrival: 5, clientPort: 7, answer: answer, effect: effect)
    return String(decoding: entry.line(head), as: UTF8.self)
  }

  private let push =
    #"{"arrival":5,"client":7,"apnsId":"00000000-0000-0000-0000-000000000001","#
    + #""token":"00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0","topic":"com.example.demo","collapseId":"c""#

  @Test func `a line has the push and its answer`() {
    #expect(line(.accepted, .none) == push + ",\"status\":200}\n")
    #expect(
      line(Answer(503, "ServiceUnavailable"), .none) == push + #","status":503,"reason":"ServiceUnavailable"}"# + "\n")
  }

  @Test func `a line has the headers and the payload, also of bytes that are not UTF-8`() {
    let head = RequestHead(changing: [
      "apns-topic": "com.a", "apns-push-type": "alert", "apns-priority": "5", "apns-expiration": "0",
    ])
    let entry = JournalEntry(arrival: 5, clientPort: 7, answer: .accepted, effect: .none)
    let line = String(decoding: entry.line(head, payload: Array("{\"aps\":\"".utf8) + [0xFF]), as: UTF8.self)
    #expect(line.contains(#""topic":"com.a","pushType":"alert","priority":"5","#))
    #expect(line.hasSuffix(#","expiration":"0","status":200,"payload":"{\"aps\":\"\#u{FFFD}"}"# + "\n"))
  }

  @Test func `a line says that the push was not processed, or its answer not sent`() {
    #expect(line(nil, .drop(processed: false)) == push + ",\"lost\":\"connection\"}\n")
    #expect(line(.accepted, .stall(processed: true)) == push + ",\"status\":200,\"lost\":\"answer\"}\n")
    #expect(line(.accepted, .goaway(Goaway(isAbrupt: true))) == push + ",\"status\":200,\"lost\":\"connection\"}\n")
    #expect(line(.accepted, .goaway(Goaway(isAbrupt: false))) == push + ",\"status\":200}\n")
  }

  @Test func `a journal that cannot be written ends the simulator with its path`() async throws {
    let process = try ChildProcess(try builtProduct("apns-simulator"), ["--journal", "/nowhere/journal"])
    #expect(try await process.exit() == 1)
    #expect(process.lines.contains { $0.contains("/nowhere/journal") })
  }
}
