import EventLoop
import Foundation
import Testing

@testable import APNs

/// What is recorded of Apple's gateway, byte by byte, against the client's session without a socket.
///
/// A file has one step on each line: `push` and `large` submit pushes, large ones of 3,000 bytes; `server` and `bytes` are
/// received, the latter one byte at a time; `expect` is compared: the limit of streams, the window, a GOAWAY, or the end of a stream.
@Suite @EventLoop struct ConversationTests {
  nonisolated static let directory = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../Gateway/conversations").standardized

  nonisolated static var names: [String] {
    let all = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
    return all.filter { $0.hasSuffix(".txt") }.sorted()
  }

  @Test func `there are conversations`() { #expect(Self.names.count >= 8) }

  @Test(arguments: names) func `a recorded conversation is understood`(name: String) throws {
    let text = try String(contentsOf: Self.directory.appending(path: name), encoding: .utf8)
    let session = try HTTP2Session(authority: "api.push.apple.com")
    var pushes: [Push] = []
    var ends: [Int32: String] = [:]
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      let words = line.split(separator: " ").map(String.init)
      switch words[0] {
      case "push", "large":
        let payload = words[0] == "push" ? TestPush.payload : [UInt8](repeating: 0x20, count: 3000)
        for number in 1...(try #require(Int(words[1]))) {
          let push = TestPush.make(number, payload: payload)
          #expect(session.submit(push, authorization: Array("bearer x".utf8)))
          pushes.append(push)
        }
      case "server": try session.receive(bytes(words[1])[...])
      case "bytes": for byte in try bytes(words[1]) { try session.receive([byte]) }
      default:
        let expected = words.dropFirst().joined(separator: " ")
        #expect(seen(words[1], session, pushes, ends) == expected, "\(name)")
      }
      var output: [UInt8] = []
      try session.produce(into: &output, target: .max)
      for push in session.takeEnded() { ends[push.stream.id] = end(push.stream.outcome) }
    }
  }

  private func seen(_ what: String, _ session: HTTP2Session, _ pushes: [Push], _ ends: [Int32: String]) -> String {
    switch what {
    case "streams": return "streams \(session.streamLimit)"
    case "window": return "window \(session.windowLeft)"
    case "goaway": return "goaway \(session.takeGoaway()?.text ?? "none")"
    default:
      let push = pushes.first { "\($0.stream.id)" == what }
      return "\(what) \(push.map { ends[$0.stream.id] ?? "open" } ?? "unknown")"
    }
  }

  private func end(_ outcome: SendOutcome) -> String {
    switch outcome {
    case .answered(let answer) where answer.meaning == .accepted: "accepted"
    case .answered(let answer): "refused \(answer.status) \(answer.reason ?? "")"
    case .notProcessed: "again"
    case .uncertain(let why): "uncertain \(why)"
    }
  }

  private func bytes(_ hex: String) throws -> [UInt8] {
    try stride(from: 0, to: hex.utf8.count, by: 2).map { start in
      let from = hex.index(hex.startIndex, offsetBy: start)
      return try #require(UInt8(hex[from..<hex.index(from, offsetBy: 2)], radix: 16))
    }
  }
}
