import Foundation
import Testing

/// The tree stays small enough to read: one type for a name, short files, short scripts, plain words.
struct TidyTests {
  private static let root = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL
  private static let maximumLines = 250
  private static let maximumScriptLines = 60
  /// Longer than they should be: shorten them, and add none.
  private static let longFiles: Set = [
    "Sources/APNs/Connection.swift",
    "Sources/APNs/ConnectionPool.swift",
    "Sources/Queue/JobQueue.swift",
    "Sources/Redis/Cluster/ClusterRouter.swift",
    "Sources/Redis/RedisConnection.swift",
    "Sources/Simulator/Wire/Connection.swift",
    "Sources/Worker/Broadcasts/BroadcastProgress.swift",
    "Sources/Worker/Service/WorkerService.swift",
    "Tests/APNsTests/AppClientsTests.swift",
    "Tests/DashboardTests/ActionTests.swift",
    "Tests/DashboardTests/Fleet/FleetPagesTests.swift",
    "Tests/HTTPServerTests/HTTPServerTests.swift",
    "Tests/MartletTests/Apps/AppsFleetTests.swift",
    "Tests/MartletTests/Behaviour/BroadcastTests.swift",
    "Tests/MartletTests/Behaviour/ExplainTests.swift",
    "Tests/MartletTests/Behaviour/MetricsTests.swift",
    "Tests/MartletTests/Behaviour/PollingTests.swift",
    "Tests/MartletTests/Chaos/GatewayTroubleTests.swift",
    "Tests/MartletTests/Redis/RedisUsersTests.swift",
    "Tests/OperationsTests/Explanations/JobExplanationTests.swift",
    "Tests/PolicyTests/BuiltInPolicyTests.swift",
    "Tests/OperationsTests/Control/ControlScriptTests.swift",
    "Tests/WorkerTests/BroadcastProgressTests.swift",
    "Tests/WorkerTests/Webhook/WebhookDeliveryTests.swift",
  ]
  private static let longScripts: Set<String> = []
  /// They are read twice, or mean nothing.
  private static let bannedWords = ["so many", "so much", "whatever", "its kin "]

  /// The text of each file with this suffix, by its path.
  private static func files(in folders: [String], _ suffix: String) throws -> [String: String] {
    var texts: [String: String] = [:]
    for folder in folders {
      let paths = FileManager.default.enumerator(atPath: root.appending(path: folder).path())
      for path in paths?.compactMap({ $0 as? String }) ?? [] where path.hasSuffix(suffix) {
        texts["\(folder)/\(path)"] = try String(contentsOf: root.appending(path: "\(folder)/\(path)"), encoding: .utf8)
      }
    }
    #expect(!texts.isEmpty)
    return texts
  }

  @Test func `no two modules have a type with the same name`() throws {
    var modules: [Substring: Set<Substring>] = [:]
    // The simulator judges the other modules, so it shares nothing with them.
    for (path, text) in try Self.files(in: ["Sources"], ".swift") where !path.contains("/Simulator/") {
      let types = text.matches(
        of: /(?m)^(?:(?:public|package|final|indirect|@\w+) )*(?:struct|enum|class|actor|protocol) ([A-Z]\w*)/)
      for type in types { modules[type.1, default: []].insert(path.split(separator: "/")[1]) }
    }
    for (name, owners) in modules { #expect(owners.count == 1, "\(name) is in \(owners.sorted())") }
  }

  @Test func `no file has over 250 lines`() throws {
    let texts = try Self.files(in: ["Sources", "Tests", "Tools"], ".swift")
    let long = texts.filter { $0.value.count { $0 == "\n" } > Self.maximumLines }
    #expect(Set(long.keys) == Self.longFiles)
  }

  @Test func `no script has over 60 lines`() throws {
    var long: Set<String> = []
    for (path, text) in try Self.files(in: ["Sources"], ".swift") {
      for script in text.matches(of: /let (\w+) = RedisScript\([^"]*(?:"[^"\n]+"[^"]*)*?\s*"""\n((?s).*?)\n\s*"""/) {
        let lines = script.2.count { $0 == "\n" } + 1
        if lines > Self.maximumScriptLines { long.insert("\(path): \(script.1)") }
      }
    }
    #expect(long == Self.longScripts)
  }

  @Test func `code and pages use plain words`() throws {
    let sources = try Self.files(in: ["Sources", "Tests", "Tools"], ".swift")
    let pages = try Self.files(in: ["docs"], ".md")
    for (path, text) in sources.merging(pages, uniquingKeysWith: { first, _ in first })
    where !path.hasSuffix("/TidyTests.swift") {
      for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
        for word in Self.bannedWords where line.localizedCaseInsensitiveContains(word) {
          Issue.record("\(path):\(number + 1): “\(word)”: \(line)")
        }
      }
    }
  }
}
