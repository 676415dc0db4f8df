import Foundation
import RegexBuilder
import Testing

/// The tree stays small enough to read: one type for a name, short files, short scripts, plain words.
struct TidyTests {
  private static let root = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL
  private static let maximumLines = 600
  private static let maximumScriptLines = 60
  /// Characters of a line of a page. Tables and code have lines as long as they need.
  private static let maximumPageWidth = 300
  /// Longer than they should be: shorten them, and add none.
  private static let longScripts: Set<String> = []
  /// They are read twice, or mean nothing.
  private static let bannedWords = ["so many", "so much", "whatever", "its kin ", "is parked", "isParked"]

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

  /// The modules that have a type with a name: at the top of a file, and within another type.
  private static func types() throws -> (top: [Substring: Set<Substring>], nested: [Substring: Set<Substring>]) {
    var top: [Substring: Set<Substring>] = [:]
    var nested: [Substring: Set<Substring>] = [:]
    // The simulator judges the other modules, so it shares nothing with them.
    for (path, text) in try files(in: ["Sources"], ".swift")
    where !path.contains("/Simulator/") && !path.contains("/Tests/") {
      let folders = path.split(separator: "/").dropFirst()
      let module = folders[folders.first == "Parts" ? 2 : 1]
      let modifiers = /(?:(?:public|package|private|fileprivate|final|indirect|@\w+) )*/
      let kinds = /struct|enum|class|actor|protocol/
      let declaration = Regex {
        Anchor.startOfLine
        Capture { ZeroOrMore(" ") }
        modifiers
        kinds
        " "
        Capture { /[A-Z]\w*/ }
      }
      for type in text.matches(of: declaration) {
        if type.1.isEmpty {
          top[type.2, default: []].insert(module)
        } else {
          nested[type.2, default: []].insert(module)
        }
      }
    }
    return (top, nested)
  }

  @Test func `no two modules have a type with the same name`() throws {
    for (name, owners) in try Self.types().top { #expect(owners.count == 1, "\(name) is in \(owners.sorted())") }
  }

  @Test func `no type within another has the name of a type of its module`() throws {
    let (top, nested) = try Self.types()
    for (name, owners) in nested {
      let both = owners.intersection(top[name] ?? [])
      #expect(both.isEmpty, "\(name) is twice in \(both.sorted())")
    }
  }

  /// Where a `String` is the key of a dictionary or a set: all are names of Martlet's own, or texts whose form excludes other
  /// characters than ASCII, as ids, bundle ids and tokens, or names of users in their one form.
  private static let textKeys: Set<String> = [
    "ActivityFacts.swift", "ActivityRequest.swift", "ActivityState.swift", "AppBinding.swift", "AppInstruments.swift",
    "AppLanes.swift",
    "AppShare.swift", "BackupSpool.swift", "BackupStream.swift", "Broadcasts.swift", "CSVReader.swift",
    "ChannelEntry.swift", "Channels.swift", "CounterBatch.swift", "CounterNames.swift", "DeviceSurvey.swift",
    "GorushStatistics.swift", "HeartbeatReader.swift", "JSONObject.swift", "JobReader.swift", "KnownDevices.swift",
    "LastUses.swift", "LiveActivitiesPart.swift", "MatrixApps.swift", "MatrixFile.swift", "Migration.swift",
    "OriginPolicy.swift", "PolicyBook.swift", "PolicyFile.swift", "Preflight.swift", "QueueNumbers.swift",
    "QueueWarnings.swift", "Registry+Export.swift", "Registry+Import.swift", "RemovalTally.swift", "SendWindow.swift",
    "Steering.swift", "StepRunner.swift", "ToneText.swift", "WorkerConfiguration.swift", "WorkerReporter.swift",
    "WorkerService.swift",
  ]

  /// Swift calls two texts equal that are two keys of Redis.
  @Test func `a text from outside is no key of a dictionary as a String`() throws {
    let folders = [
      "Backup", "Credentials", "Events", "JSON", "Jobs", "Parts", "Queue", "Registry", "Sidecar", "Worker",
    ]
    for (path, text) in try Self.files(in: folders.map { "Sources/\($0)" }, ".swift") where !path.contains("/Tests/") {
      guard text.contains(/\[String: |\bSet<String>|Dictionary<String|KeyedMutex<String/) else { continue }
      let file = path.split(separator: "/").last.map { String($0) } ?? ""
      #expect(Self.textKeys.contains(file), "\(path): use Username or ExactText, or say here why the text is ASCII")
    }
  }

  /// A record, an answer and a table of somebody else's have texts.
  private static let namesInText: Set<String> = [
    "Event+Results.swift", "ImportClaim.swift", "UserGate.swift", "ForeignDevice.swift", "Event.swift",
  ]

  @Test func `the name of a user is a Username where it is stored, compared or looked up`() throws {
    for (path, text) in try Self.files(in: ["Sources"], ".swift")
    where !path.contains("/Tests/") && !path.contains("Sources/Simulator/") && !path.contains("Sources/Redis/") {
      let file = path.split(separator: "/").last.map { String($0) } ?? ""
      let found = text.matches(of: /\b(?:user|users|username|owner|owners|previousOwner|newOwner)\??: \[?String\b.*/)
      #expect(found.isEmpty || Self.namesInText.contains(file), "\(path): \(found.map(\.0))")
    }
  }

  @Test func `no file has over 600 lines, but those with the scripts of a module`() throws {
    let texts = try Self.files(in: ["Sources", "Tests", "Tools"], ".swift")
    let long = texts.filter { !$0.key.hasSuffix("Scripts.swift") && $0.value.count { $0 == "\n" } > Self.maximumLines }
    #expect(long.isEmpty, "\(long.keys.sorted())")
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

  @Test func `tasks of the event loop are started with its start function, which saves a hop between threads`() throws {
    let texts = try Self.files(in: ["Sources"], ".swift")
    #expect(texts.filter { $0.value.contains("Task { @EventLoop") }.isEmpty)
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

  @Test func `lines of pages are short enough to read`() throws {
    var pages = try Self.files(in: ["docs"], ".md")
    for name in ["README.md", "CONTRIBUTING.md"] {
      pages[name] = try String(contentsOf: Self.root.appending(path: name), encoding: .utf8)
    }
    for (path, text) in pages {
      var isCode = false
      for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
        if line.drop(while: { $0 == " " }).hasPrefix("```") { isCode.toggle() }
        guard !isCode, !line.hasPrefix("|") else { continue }
        #expect(line.count <= Self.maximumPageWidth, "\(path):\(number + 1)")
      }
    }
  }
}
