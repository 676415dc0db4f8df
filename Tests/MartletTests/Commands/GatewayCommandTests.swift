import FleetSupport
import Foundation
import Testing
import TestSupport

@testable import APNs

/// `martlet gateway`, its page, and the reports that were sent in.
@Suite(.serialized) struct GatewayCommandTests {
  private struct Line: Decodable {
    let id: String
    let expected: [String]
    let seen: String
    let verdict: String
  }

  private static let shared = Task { try await Fleet() }
  private let fleet: Fleet
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
    .standardized

  init() async throws { fleet = try await Self.shared.value }

  private func lines(_ text: [String]) throws -> [Line] {
    try text.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
  }

  private func ask(
    _ arguments: [String], _ changes: [String: String?] = [:]
  ) async throws -> (code: Int32?, lines: [Line]) {
    try await fleet.gateway.control("/ledger/reset", "-X", "POST")
    let child = try await fleet.martlet(["gateway", "--json"] + arguments, environment: changes)
    return (child.exitCode, try lines(child.lines(of: .output)))
  }

  @Test func `the simulator answers as is expected, over one connection, and no device gets anything`() async throws {
    let (code, lines) = try await ask([])
    #expect(code == 0)
    #expect(lines.filter { $0.verdict != "expected" }.map(\.id) == [])
    #expect(lines.map(\.id) == GatewayFact.all.filter { $0.need <= .key }.map(\.id))
    let ledger = try await fleet.gateway.ledger()
    #expect(ledger.accepted == 0 && ledger.received <= 60)
    #expect(ledger.connections == 1)
  }

  @Test func `without a key it asks what needs none`() async throws {
    let none: [String: String?] = [
      "APNS_KEY_ID": nil, "APNS_TEAM_ID": nil, "APNS_KEY_PATH": nil, "APNS_BUNDLE_ID": nil,
    ]
    let (code, lines) = try await ask([], none)
    #expect(code == 0)
    #expect(lines.map(\.id) == GatewayFact.all.filter { $0.need == .nothing }.map(\.id))
    let refused = try await fleet.martlet(["gateway", "--token", fleet.uniqueToken()], environment: none)
    #expect(refused.exitCode == 2)
  }

  @Test func `a key without its id is a fault, not a question without a key`() async throws {
    let child = try await fleet.martlet(["gateway"], environment: ["APNS_KEY_ID": nil])
    #expect(child.exitCode == 2)
    #expect(child.lines(of: .error).contains { $0.contains("APNS_KEY_ID: not set") })
    #expect(child.lines(of: .output).isEmpty)
  }

  @Test func `with a token and a second provider token it asks the rest`() async throws {
    let token = String(repeating: "ab", count: 32)
    let (code, lines) = try await ask(["--token", token, "--renew"])
    #expect(code == 0, "\(lines.filter { $0.verdict != "expected" })")
    #expect(lines.map(\.id) == GatewayFact.all.filter { $0.need <= .renewal }.map(\.id))
    #expect(try await fleet.gateway.ledger().accepted == 2)
  }

  @Test func `an answer that differs is shown with what was expected`() async throws {
    try await fleet.gateway.fault(
      #"{"kind":"status","status":400,"reason":"BadTopic","count":1,"after":11}"#)
    let child = try await fleet.martlet("gateway")
    try await fleet.gateway.clearFaults()
    #expect(child.exitCode == 1)
    let differing = child.lines(of: .output).filter { $0.hasPrefix("DIFFERS") }
    #expect(differing.contains { $0.contains("400 BadTopic; expected") }, "\(differing)")
  }

  @Test func `a gateway that cannot be reached is said to be`() async throws {
    let child = try await fleet.martlet(
      "gateway", environment: ["APNS_ENDPOINT_OVERRIDE": "https://127.0.0.1:\(try freePort())"])
    #expect(child.exitCode == 1)
    #expect(child.lines(of: .error).contains { $0.contains("cannot be asked") })
  }

  @Test func `reports of gateways agree with the list and with the simulator`() async throws {
    let directory = Self.root.appending(path: "Tests/Gateway/recorded")
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { $0.hasSuffix(".jsonl") }
    #expect(!names.isEmpty)
    let token = String(repeating: "cd", count: 32)
    let (_, simulated) = try await ask(["--token", token])
    let seen = Dictionary(uniqueKeysWithValues: simulated.map { ($0.id, $0.seen) })
    for name in names {
      let text = try String(contentsOf: directory.appending(path: name), encoding: .utf8)
      for line in try lines(text.split(separator: "\n").map(String.init)) {
        let fact = try #require(GatewayFact.all.first { $0.id == line.id }, "\(name): \(line.id)")
        #expect(fact.verdict(on: line.seen) == .expected, "\(name): \(line.id)")
        // Where one of several answers is expected, or more had to be asked, the simulator may differ.
        guard fact.expected.count == 1, let simulated = seen[line.id] else { continue }
        #expect(simulated == line.seen, "\(name): \(line.id)")
      }
    }
  }

  @Test func `the page has the rows of the list`() throws {
    let needs: [GatewayFact.Need: String] = [
      .nothing: "nothing", .key: "a key", .token: "`--token`", .renewal: "`--renew`", .idleness: "`--idle`",
    ]
    let page = try String(contentsOf: Self.root.appending(path: "docs/gateway.md"), encoding: .utf8)
    let rows = page.split(separator: "\n").map(String.init).filter { $0.hasPrefix("| `") && !$0.hasPrefix("| `--") }
    let expected = GatewayFact.all.map { fact in
      let answers = fact.expected.map { "`\($0)`" }.joined(separator: " or ")
      return
        "| `\(fact.id)` | \(fact.question) | \(answers) | \(fact.certainty.rawValue) | \(fact.source) | \(needs[fact.need] ?? "") |"
    }
    #expect(rows == expected)
    #expect(Set(GatewayFact.all.map(\.id)).count == GatewayFact.all.count)
  }
}
