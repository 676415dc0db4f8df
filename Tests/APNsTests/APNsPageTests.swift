import Foundation
import PushModel
import Testing

@testable import APNs

/// The tables of docs/apns.md are those of the code.
struct APNsPageTests {
  private static let page = URL(filePath: #filePath).appending(path: "../../../docs/apns.md").standardizedFileURL
  /// Reasons of Martlet's own.
  private static let own = [
    "NoChannelInEnvironment", "NoKeyForEnvironment", "NotAnAPNsToken", "StartedBefore", "UnknownApp", "UnreachableHere",
    "UnsupportedPlatform",
    "WrongTokenKind",
  ]

  /// The cells of the rows of the first table under a heading, without backquotes.
  private func rows(_ heading: String) throws -> [[String]] {
    let text = try String(contentsOf: Self.page, encoding: .utf8)
    let start = try #require(text.range(of: "\n## \(heading)\n"))
    let lines = text[start.upperBound...].split(separator: "\n", omittingEmptySubsequences: false)
    let table = lines.drop { !$0.hasPrefix("|") }.prefix { $0.hasPrefix("|") }.dropFirst(2)
    return table.map { line in
      line.split(separator: "|").map { $0.replacing("`", with: "").trimmingCharacters(in: .whitespaces) }
    }
  }

  @Test func `the push types are those of the code`() throws {
    let expected = PushType.allCases.map { type in
      let suffix = type.topic(bundleID: "a").dropFirst()
      let others = type.onlyPriority == nil ? "5, 1" : "none"
      return [
        type.rawValue, suffix.isEmpty ? "none" : String(suffix), type.kind?.rawValue ?? "none",
        "\(type.defaultPriority)", others, "\(type.maximumPayloadBytes)",
        type.defaultExpiration.map { "\($0)" } ?? "Apple's",
      ]
    }
    #expect(try rows("Push types") == expected)
  }

  @Test func `the reasons are those of the code, each with what is done`() throws {
    let rows = try rows("Reasons")
    for row in rows {
      let answer = APNsAnswer(status: try #require(Int(row[0])), reason: row[1])
      #expect(row[3] == action(answer.meaning), "\(row)")
    }
    let named = Set(rows.map { $0[1] })
    #expect(named.count == rows.count)
    #expect(named == Set(AnswerMeaningTests.table.map(\.1)))
    let ofChannels = try self.rows("Reasons of channels").map { $0[0] }
    #expect(Set(PushReason.names).subtracting(named).subtracting(ofChannels) == Set(Self.own))
    #expect(Set(ofChannels).isSubset(of: PushReason.names))
    #expect(try self.rows("Martlet's reasons").map { $0[0] } == Self.own)
  }

  private func action(_ meaning: AnswerMeaning) -> String {
    switch meaning {
    case .accepted: "accepted"
    case .staleToken: "stale token"
    case .failed: "failed device"
    case .badJob: "bad job"
    case .retryLater: "fault of APNs"
    case .deviceThrottled: "limited device"
    case .providerRefused: "refused key"
    case .forbidden: "forbidden"
    case .topicRefused: "refused topic"
    case .tooManyProviderTokens: "older provider token"
    case .newConnection: "new connection"
    case .ourBug: "error of Martlet"
    }
  }
}
