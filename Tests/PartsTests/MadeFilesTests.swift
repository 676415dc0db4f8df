import Events
import Foundation
import JSON
import Program
import Testing
import Usage

@testable import Martlet
@testable import Simulator

/// The files that are made from declarations, whole or between two marks. `make docs` writes them, one after the other.
@Suite(.serialized) struct MadeFilesTests {
  /// Asks the tests to write what they would find different.
  private static let isWriting = ProcessInfo.processInfo.environment["MAKE_DOCS"] == "1"
  private static let root = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL

  private static func read(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  private static func expect(_ path: String, is text: String) throws {
    guard (try? read(path)) != text else { return }
    if isWriting { return try text.write(to: root.appending(path: path), atomically: true, encoding: .utf8) }
    Issue.record("\(path) is not current: make docs")
  }

  private static let programs: [(name: String, completion: Completion, section: String, text: String)] = [
    ("martlet", Martlet.completion, "@COMMANDS@", ManPage.commands(Martlet.commands.map { $0.usage })),
    (
      "apns-simulator", Completion(of: "apns-simulator", [Arguments.usage]), "@OPTIONS@",
      ManPage.options(Arguments.usage.options).joined(separator: "\n")
    ),
  ]

  @Test func `completions have the commands and options of the programs`() throws {
    for (name, completion, _, _) in Self.programs {
      try Self.expect("deploy/completions/\(name).bash", is: completion.script(for: .bash))
      try Self.expect("deploy/completions/_\(name)", is: completion.script(for: .zsh))
      try Self.expect("deploy/completions/\(name).fish", is: completion.script(for: .fish))
    }
  }

  @Test func `manual pages have the commands and options of the programs`() throws {
    for (name, _, section, text) in Self.programs {
      let template = try Self.read("deploy/man/\(name).1.in")
      #expect(template.contains("\n\(section)\n"))
      let items = Setting.Group.allCases.map { $0.item(of: Self.settings) }.joined(separator: "\n")
      try Self.expect(
        "deploy/man/\(name).1", is: template.replacing(section, with: text).replacing("@SETTINGS@", with: items))
    }
  }

  // MARK: - Version

  @Test func `the description of the HTTP APIs and the image have the version of the program`() throws {
    for (path, pattern) in [
      ("Sources/Sidecar/openapi.json", #/(\n  "version": ")[^"]+/#),
      ("deploy/kubernetes/overlays/production/kustomization.yaml", #/(newTag: )\S+/#),
    ] {
      let text = try Self.read(path)
      #expect(text.contains(pattern))
      try Self.expect(path, is: text.replacing(pattern) { $0.1 + Version.current })
    }
  }

  // MARK: - Settings

  private static let settings = Setting.core + Parts.settings

  @Test func `tables of pages have what is declared`() throws {
    let page = "docs/settings.md"
    var text = try Self.read(page)
    for group in Setting.Group.allCases {
      text = try Self.replacing("settings: \(group.rawValue)", in: text, with: group.table(of: Self.settings))
    }
    try Self.expect(page, is: text)
  }

  @Test func `the page of events has each type`() throws {
    let rows = EventType.allCases.map { "| `\($0.rawValue)` | \($0.row.when) | \($0.row.members) |" }
    try Self.expectTable("events", in: "docs/events.md", "| type | when | members of `data` |", rows)
  }

  @Test func `the page of jobs has each field of the schema`() throws {
    let fields = try #require(try JSONValue(parsing: Array(Self.read("docs/job.schema.json").utf8))["properties"])
    func rows(_ fields: JSONValue?, _ prefix: String = "") -> [String] {
      (fields?.members ?? []).flatMap { field in
        let meaning = field.value["description"]?.string ?? ""
        return ["| `\(prefix)\(field.key)` | \(meaning) |"]
          + (field.key == "to" ? rows(field.value["properties"], "to.") : [])
      }
    }
    try Self.expectTable("fields", in: "docs/jobs.md", "| field | meaning |", rows(fields))
  }

  @Test func `the page for watching has each metric`() throws {
    try Self.expectTable(
      "metrics", in: "docs/watching.md", "| metric | process | type | meaning | when to worry |", DeclaredMetric.rows())
  }

  @Test func `the page for watching has each log line of which an operator is told what to do`() throws {
    #expect(DeclaredLogLine.lacking() == [])
    try Self.expectTable(
      "log lines", in: "docs/watching.md", "| level | message | what to do |", DeclaredLogLine.rows())
  }

  @Test func `the page of keys has each key`() throws {
    let page = "docs/redis-keys.md"
    try Self.expectTable("shared keys", in: page, "| key | type | content |", DeclaredKey.rows(areShared: true))
    try Self.expectTable("keys", in: page, "| key | type | TTL | content |", DeclaredKey.rows(areShared: false))
  }

  private static func expectTable(_ name: String, in page: String, _ head: String, _ rows: [String]) throws {
    let line = head.replacing(/[^|]+/, with: "---")
    let table = ([head, line] + rows).joined(separator: "\n")
    try expect(page, is: try replacing(name, in: try read(page), with: table))
  }

  @Test func `the example of an environment has a line for each setting`() throws {
    let path = "deploy/systemd/martlet.env.example"
    let lines = Setting.Group.allCases.map { $0.example(of: Self.settings) }.joined(separator: "\n")
    try Self.expect(path, is: try Self.read(path + ".in").replacing("@SETTINGS@\n", with: lines))
  }

  /// Replaces what is between the marks `<!-- name -->` and `<!-- end -->`.
  private static func replacing(_ name: String, in page: String, with text: String) throws -> String {
    let begin = try #require(page.range(of: "<!-- \(name) -->\n"), "no mark \(name)")
    let end = try #require(page.range(of: "<!-- end -->", range: begin.upperBound..<page.endIndex))
    return page.replacingCharacters(in: begin.upperBound..<end.lowerBound, with: text + "\n")
  }
}
