import Foundation
import Testing

/// Numbers from outside are read by `Sources/JSON/NumberRange.swift`, which knows their ranges. This finds the ways around it.
struct NumberSourceTests {
  /// What a line must not contain, except in these files.
  private struct Rule: Sendable {
    let name: String
    let pattern: String
    var permitted: [String] = []

    /// The lines that match, without those of comments.
    func matches(in text: String) throws -> [String] {
      let expression = try NSRegularExpression(
        pattern: "^(?!\\s*//).*?(?:\(pattern)).*$", options: [.anchorsMatchLines])
      return expression.matches(in: text, range: NSRange(text.startIndex..., in: text))
        .compactMap { Range($0.range, in: text).map { String(text[$0]) } }
    }
  }

  private static let integer = #"U?Int(8|16|32|64)?"#
  private static let rules = [
    Rule(name: "the magnitude of the smallest integer is none: use .magnitude", pattern: #"(?<!math\.)\babs\("#),
    Rule(
      name: "a JSON number without a range", pattern: #"\bread(Int64|Double)\("#,
      permitted: ["JSONReader+Number.swift", "JobReader.swift", "DeviceMetadata.swift"]),
    Rule(
      name: "the number of a JSON value or a reply without a range",
      pattern: #"\bcase (\.success\()?\.(integer|number)\(let"#,
      permitted: [
        "NumberRange.swift", "RedisValue.swift", "JSONObject.swift", "LogEntry.swift", "SpanEncoder.swift",
        "JSONFieldReader.swift", "Cell.swift",
      ]),
    Rule(
      name: "a number of a text without a range: use integer(in:) or number(in:)",
      pattern: #"flatMap ?(\(\{?|\{) ?(\#(integer)|Double)(\.init|\(\$0)"#),
    Rule(
      name: "a number of a text without a range: use integer(in:) or number(in:)",
      pattern:
        #"\b(let \w+(: \w+)? = (\#(integer)|Double)\([^:\n]*\)(,| else| \{)|(guard|if) let \w+ = (\#(integer)|Double)\()"#,
      permitted: ["NumberRange.swift", "JSONReader+Number.swift"]),
    Rule(
      name: "a number of a text without a range: use integer(in:) or number(in:)",
      pattern: #"\b(\#(integer)|Double)\([^:()\n]*(\([^:()\n]*\))?[^:()\n]*\) (\?\?|!= nil|== nil)"#),
    Rule(
      name: "a fraction that becomes an integer: use integer(in:)",
      pattern: #"\b\#(integer)\([^:\n]*(\.rounded\(\)| \* 1000)\)"#,
      // Of numbers that are in a range already.
      permitted: [
        "RateStatus.swift", "Texts.swift", "NextStep.swift", "QueuesPage.swift", "BroadcastView.swift",
        "OverviewPage.swift", "BarChart.swift", "OperatorAccess.swift", "DeadView.swift",
      ]),
  ]

  /// Not shipped, or a judge of the worker.
  private static let others = ["Bench", "Chaos", "Simulator"]

  @Test func `no number from outside is read without a range`() throws {
    let root = URL(filePath: #filePath).appending(path: "../../../../Sources").standardizedFileURL
    let files = try #require(FileManager.default.enumerator(atPath: root.path)).compactMap { $0 as? String }
      .filter { path in
        path.hasSuffix(".swift") && !path.contains("/Tests/") && !Self.others.contains { path.hasPrefix($0 + "/") }
      }
    #expect(files.count > 400)
    var faults: [String] = []
    for file in files.sorted() {
      let text = try String(contentsOf: root.appending(path: file), encoding: .utf8)
      let name = URL(filePath: file).lastPathComponent
      for rule in Self.rules where !rule.permitted.contains(name) {
        faults += try rule.matches(in: text).map { "\(file): \(rule.name): \($0)" }
      }
    }
    #expect(faults.isEmpty, "\(faults.joined(separator: "\n"))")
  }

  @Test(arguments: [
    "abs(difference)", "let at = try reader.readInt64()", "if case .integer(let count) = reply",
    "text.flatMap { Int64($0) }",
    "text.flatMap(Double.init)", "guard let limit = Int(text), limit > 0 else", "let size = Int(word) ?? 0",
    "Int((share * 10).rounded())", "Int64(seconds * 1000)",
  ])
  func `the ways around it are found`(code: String) throws {
    #expect(try Self.rules.contains { try !$0.matches(in: code).isEmpty })
  }
}
