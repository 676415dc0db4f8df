import EventLoop
import FleetSupport
import Foundation
import Redis
import Registry
import Telemetry
import Testing
import TestSupport
@testable import PushModel

/// `martlet tokens` as a process.
@Suite(.serialized) struct TokensCommandTests {
  private static let shared = Task { try await Fleet() }
  private let fleet: Fleet
  private let directory: TemporaryDirectory

  init() async throws {
    fleet = try await Self.shared.value
    directory = try TemporaryDirectory()
    try await fleet.redis("FLUSHALL")
  }

  private func path(_ name: String) -> String { "\(directory.path)/\(name)" }

  private func write(_ text: String, to name: String) throws -> String {
    try text.write(toFile: path(name), atomically: false, encoding: .utf8)
    return path(name)
  }

  private func summary(_ child: ChildProcess) throws -> [String: Int] {
    let line = try #require(child.lines(of: .output).last)
    let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    let refused = (object["refused"] ?? object["skipped"]) as? [String: Int] ?? [:]
    return object.compactMapValues { $0 as? Int }.merging(refused) { first, _ in first }
  }

  @EventLoop private func fill() async throws {
    let registry = Registry(connection: fleet.connection, log: .silent)
    for number in 0..<300 {
      let token = fleet.uniqueToken()
      let app: String? = number % 5 == 0 ? nil : "com.app\(number % 3)"
      try await registry.register(
        Registration(
          token: DeviceToken(token), username: "user \(number % 17) é\"\\", platform: number % 4 == 0 ? .android : .ios,
          bundleID: app, environment: number % 7 == 0 ? .sandbox : number % 7 == 1 ? .production : nil,
          now: 1_700_000_000_000 + Int64(number)))
    }
    for number in 0..<20 {
      let record = InstanceRecord(
        token: DeviceToken(fleet.uniqueToken()), environment: number % 2 == 0 ? .sandbox : nil,
        bundleID: number % 3 == 0 ? "com.i" : nil,
        updatedAt: Int64(number), isActive: number % 5 != 0)
      try await registry.register(instance: "instance-\(number)", record)
    }
    let nobodys = try write(
      #"{"com.nobody":["\#(fleet.uniqueToken())":{"createdAt":"2016-01-02T03:04:05.678Z"},"\#(fleet.uniqueToken())":{}]}"#,
      to: "nobodys.json")
    #expect(try await fleet.martlet("tokens", "import", nobodys).exitCode == 0)
  }

  @Test func `a pipe or a directory is not replaced by a backup`() async throws {
    #expect(mkfifo(path("pipe"), 0o600) == 0)
    #expect(mkdir(path("directory"), 0o700) == 0)
    let installations = try write("[]", to: "parse.json")
    for name in ["pipe", "directory"] {
      for words in [["export", path(name)], ["migrate", installations, "--bundle", "com.a", "--output", path(name)]] {
        let child = try await fleet.martlet(["tokens"] + words)
        #expect(child.exitCode == 1)
        #expect(child.lines == ["martlet tokens: '\(path(name))' is not a regular file; - writes to stdout"])
      }
    }
    var status = stat()
    #expect(stat(path("pipe"), &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).count == 3)
  }

  @Test func `an import of an export into an empty Redis restores the registry`() async throws {
    try await fill()
    #expect(try await fleet.martlet("credentials", "add", "key", "not-in-the-backup").exitCode == 0)
    let before = try await RegistrySnapshot(fleet, without: "martlet:")
    let file = path("backup.json")
    let export = try await fleet.martlet("tokens", "export", file, "--json")
    #expect(export.exitCode == 0)
    #expect(try summary(export) == ["devices": 302, "instances": 20])

    let attributes = try FileManager.default.attributesOfItem(atPath: file)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() == ["backup.json", "nobodys.json"])
    let text = try String(contentsOfFile: file, encoding: .utf8)
    let apps = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: [String: Any]])
    #expect(apps.keys.sorted() == ["", "com.app0", "com.app1", "com.app2", "com.nobody", "martlet:instances"])
    #expect(!text.contains("not-in-the-backup"))

    try await fleet.redis("FLUSHALL")
    let first = try await fleet.martlet("tokens", "import", file, "--json")
    #expect(try summary(first) == ["new": 322, "updated": 0, "kept": 0])
    #expect(try await RegistrySnapshot(fleet, without: "martlet:") == before)
    let second = try await fleet.martlet("tokens", "import", file, "--json")
    #expect(try summary(second) == ["new": 0, "updated": 0, "kept": 322])
    #expect(try await RegistrySnapshot(fleet, without: "martlet:") == before)
  }

  @Test func `a user keeps the newest devices of a backup up to the limit`() async throws {
    let tokens = fleet.uniqueTokens(5)
    let entries = tokens.enumerated().map { index, token in
      #""\#(token)":{"updatedAt":"201\#(index)-01-02T03:04:05.678Z","username":"alice"}"#
    }
    let file = try write("{\"com.limit\":{\(entries.joined(separator: ","))}}", to: "limit.json")
    let limit = ["MARTLET_MAX_DEVICES": "2"]
    let done = try await fleet.martlet("tokens", "import", file, "--json", environment: limit)
    #expect(try summary(done)["too_many_devices"] == 3)
    let members = try await fleet.redis("SMEMBERS", RegistryKeys.userTokens("alice")).array?.compactMap(\.string)
    #expect(Set(members ?? []) == Set(tokens.suffix(2)))
    let wrong = try await fleet.martlet("tokens", "import", file, environment: ["MARTLET_MAX_DEVICES": "1001"])
    #expect(wrong.exitCode == 2)
  }

  @Test func `a backup goes through pipes too`() async throws {
    try await fill()
    let before = try await RegistrySnapshot(fleet, without: "martlet:")
    let export = try await fleet.martlet("tokens", "export", "-")
    #expect(export.lines(of: .error).contains { $0.hasPrefix("devices") })
    try await fleet.redis("FLUSHALL")
    let text = export.lines(of: .output).joined(separator: "\n")
    #expect(try await fleet.martlet("tokens", "import", "-", input: text).exitCode == 0)
    #expect(try await RegistrySnapshot(fleet, without: "martlet:") == before)
  }

  @Test func `an interrupted import can be repeated`() async throws {
    let tokens = fleet.uniqueTokens(20_000)
    let entries = tokens.map { #""\#($0)":{"updatedAt":"2016-01-02T03:04:05.678Z"}"# }
    let whole = "{\"com.big\":{\n" + entries.joined(separator: ",\n") + "\n}}"
    let cut = try write(String(whole.dropLast(whole.count / 2)), to: "cut.json")
    let failed = try await fleet.martlet("tokens", "import", cut)
    #expect(failed.exitCode == 1)
    #expect(failed.lines(of: .error).contains { $0.contains("cut.json: line ") && $0.contains("byte ") })
    #expect(failed.lines(of: .error).contains { $0.hasPrefix("new") && $0.contains("9999") })
    let again = try await fleet.martlet("tokens", "import", write(whole, to: "whole.json"), "--json")
    #expect(try summary(again) == ["new": 10_001, "updated": 0, "kept": 9999])
    var audience: Int64 = 0
    for shard in 0..<AudienceShard.count {
      audience += try await fleet.redis("ZCARD", RegistryKeys.audience("com.big", shard: shard)).integer ?? 0
    }
    #expect(audience == 20_000)
  }

  @Test func `a Parse export is converted to a backup or imported directly`() async throws {
    func installation(_ app: String, _ type: String, _ token: String) -> String {
      #"{"appIdentifier":"\#(app)","deviceType":"\#(type)","deviceToken":"\#(token)","createdAt":"2016-01-02T03:04:05.678Z"}"#
    }
    let tokens = fleet.uniqueTokens(3)
    let parse = try write(
      "{\"results\":["
        + [
          installation("com.one", "ios", tokens[0]), installation("com.two", "ios", tokens[1]),
          installation("com.three", "ios", tokens[2]), installation("com.one", "android", "x"),
          installation("com.one", "ios", "x"),
        ].joined(separator: ",") + "]}", to: "parse.json")
    let skipped = ["other_app": 1, "other_platform": 1, "malformed_token": 1]

    let bundles = ["--bundle", "com.one", "--bundle=com.two"]
    func migrate(_ more: String...) async throws -> ChildProcess {
      try await fleet.martlet(["tokens", "migrate", parse] + bundles + more)
    }
    let converted = try await migrate("--output", path("backup.json"), "--json")
    #expect(try summary(converted) == ["devices": 2, "instances": 0].merging(skipped) { first, _ in first })
    #expect(try await fleet.redis("DBSIZE").integer == 0)
    let imported = try await fleet.martlet("tokens", "import", path("backup.json"), "--json")
    #expect(try summary(imported) == ["new": 2, "updated": 0, "kept": 0])
    let direct = try await migrate("--import", "--json")
    #expect(try summary(direct) == ["new": 0, "updated": 0, "kept": 2].merging(skipped) { first, _ in first })
    let shown = try await migrate()
    #expect(
      shown.lines(of: .output).joined()
        == (try String(contentsOfFile: path("backup.json"), encoding: .utf8)).filter { $0 != "\n" })
    #expect(try await fleet.redis("GET", RegistryKeys.token(entry: tokens[2])).isNull)
  }

  @Test func `a failed command leaves no file behind`() async throws {
    #expect(try await fleet.martlet("tokens", "export", "/nowhere/backup.json").exitCode == 1)
    let nothing = try await fleet.martlet("tokens", "import", path("nothing.json"))
    #expect(nothing.exitCode == 1)
    #expect(
      nothing.lines.last == "martlet tokens: cannot open '\(path("nothing.json"))': No such file or directory")
    #expect(try await fleet.martlet("tokens", "import", directory.path).exitCode == 1)
    let bad = try write("7", to: "bad.json")
    let failed = try await fleet.martlet("tokens", "migrate", bad, "--bundle", "com.a", "--output", path("out.json"))
    #expect(failed.exitCode == 1)
    #expect(failed.lines.last?.hasPrefix("martlet tokens: \(bad): line 1, byte 0: expected an export") == true)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["bad.json"])
    for wrong in [["migrate", bad], ["import", bad, "--bundle", "x"], ["export"], ["eat", bad]] {
      let child = try await fleet.martlet(["tokens"] + wrong)
      #expect(child.exitCode == 2, "\(wrong)")
    }
  }
}
