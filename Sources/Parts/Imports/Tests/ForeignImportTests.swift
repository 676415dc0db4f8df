import EventLoop
import FleetSupport
import Foundation
import Redis
import Registry
import Telemetry
import Testing
import TestSupport
@testable import PushModel

/// `martlet tokens import --from` as a process.
@Suite(.serialized) struct ForeignImportTests {
  private static let shared = Task { try await Fleet() }
  private let fleet: Fleet
  private let directory: TemporaryDirectory

  init() async throws {
    fleet = try await Self.shared.value
    directory = try TemporaryDirectory()
    try await fleet.redis("FLUSHALL")
  }

  private func write(_ text: String) throws -> String {
    let path = "\(directory.path)/devices"
    try text.write(toFile: path, atomically: false, encoding: .utf8)
    return path
  }

  private func metadata(_ token: String) async throws -> DeviceMetadata? {
    try await fleet.redis("GET", RegistryKeys.token(entry: token)).bytes.flatMap(DeviceMetadata.init(parsing:))
  }

  private func members(_ user: String) async throws -> Set<String> {
    Set(try await fleet.redis("SMEMBERS", RegistryKeys.userTokens(Username(user))).array?.compactMap(\.string) ?? [])
  }

  @Test func `a dry run says what a file has, and writes nothing`() async throws {
    let tokens = fleet.uniqueTokens(3)
    let file = try write(
      """
      token,user,bundleId,environment,kind,platform
      \(tokens[0]),alice,,,,ios
      \(tokens[1]),alice,com.b,sandbox,voip,
      \(tokens[0]),bob,,,,
      \(tokens[2]),,,,,
      x,alice,,,,
      \(tokens[2]),alice,,,,android
      y,alice,,,,

      """)
    let words = ["tokens", "import", file, "--from", "csv", "--bundle", "com.a", "--dry-run"]
    let json = try await fleet.martlet(words + ["--json"])
    #expect(json.exitCode == 0)
    #expect(
      json.lines(of: .output) == [
        #"{"devices":3,"anonymous":1,"duplicates":1,"groups":[{"app":"com.a","kind":"app","count":2},"#
          + #"{"app":"com.b","environment":"sandbox","kind":"voip","count":1}],"others":0,"#
          + #""refused":{"malformed_token":2,"other_platform":1},"firstLines":{"malformed_token":6,"other_platform":7}}"#
      ])
    let text = try await fleet.martlet(words, environment: ["REDIS_URL": "redis://127.0.0.1:1"])
    #expect(text.exitCode == 0, "no Redis is needed")
    #expect(
      text.lines(of: .output).map { $0.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ") }
        == [
          "entries count first line", "devices 3", "without a user 1", "duplicates 1",
          "devices: com.a, environment unknown 2", "devices: com.b, sandbox, voip 1", "refused: malformed_token 2 6",
          "refused: other_platform 1 7",
        ])
    #expect(try await fleet.redis("DBSIZE").integer == 0)
  }

  @Test func `devices beyond the limit of their user are counted with the first line, without Redis too`() async throws
  {
    let tokens = fleet.uniqueTokens(5)
    let rows = tokens.enumerated().map { index, token in
      "\(token),alice,\(index == 4 ? "voip" : "app"),2024-01-0\(9 - index) 10:00:00"
    }
    let file = try write((["token,user,kind,updatedAt"] + rows).joined(separator: "\n"))
    let words = ["tokens", "import", file, "--from", "csv", "--bundle", "com.a", "--json"]
    let limit = ["MARTLET_MAX_DEVICES": "2"]
    for dry in [["--dry-run"], []] {
      let done = try await fleet.martlet(words + dry, environment: limit)
      #expect(done.exitCode == 0)
      let text = done.lines(of: .output).joined()
      #expect(text.contains(#""refused":{"too_many_devices":2}"#), "\(text)")
      #expect(text.contains(#""firstLines":{"too_many_devices":4}"#), "\(text)")
    }
    #expect(try await members("alice") == [tokens[0], tokens[1], tokens[4]])
    let wrong = try await fleet.martlet(words + ["--dry-run"], environment: ["MARTLET_MAX_DEVICES": "1001"])
    #expect(wrong.exitCode == 2)
  }

  @Test func `devices are registered for their users and apps, and an import can be repeated`() async throws {
    let tokens = fleet.uniqueTokens(2)
    func endpoint(_ token: String, _ more: String) -> String {
      #"{"EndpointArn":"arn:aws:sns:us-east-1:1:endpoint/APNS_SANDBOX/app/x","Attributes":{"Token":"\#(token)"\#(more)}}"#
    }
    let list = [
      endpoint(tokens[0], #","Enabled":"true","CustomUserData":"Alice""#), endpoint(tokens[1], ""),
      endpoint("short", ""),
    ]
    let file = try write("{\"Endpoints\": [\n\(list.joined(separator: ",\n"))\n]}\n")
    for counts in [#""new":2,"updated":0,"kept":0"#, #""new":0,"updated":0,"kept":2"#] {
      let child = try await fleet.martlet("tokens", "import", file, "--from", "sns", "--bundle", "com.sns", "--json")
      #expect(
        child.lines(of: .output) == [
          "{\(counts),\"refused\":{\"malformed_token\":1},\"firstLines\":{\"malformed_token\":4}}"
        ])
    }
    #expect(
      try await metadata(tokens[0])
        == DeviceMetadata(
          username: "alice", platform: .ios, updatedAt: 0, bundleID: "com.sns", environment: .sandbox))
    #expect(try await members("alice") == [tokens[0]])
    for token in tokens {
      let audience = RegistryKeys.audience("com.sns", shard: AudienceShard.shard(of: token))
      #expect(try await !fleet.redis("ZSCORE", audience, token).isNull)
    }
  }

  @Test func `an import does not take a device from who registered it`() async throws {
    let tokens = fleet.uniqueTokens(2)
    try await fleet.register(tokens, to: "owner", bundleID: "com.owner")
    let before = try await metadata(tokens[0])
    let file = try write(
      "token,user,bundleId,environment,updatedAt\n\(tokens[0]),thief,com.thief,sandbox,\n"
        + "\(tokens[1]),thief,com.thief,sandbox,2016-01-02T03:04:05Z\n")
    let child = try await fleet.martlet("tokens", "import", file, "--from", "csv", "--json")
    #expect(child.lines(of: .output) == [#"{"new":0,"updated":0,"kept":2,"refused":{},"firstLines":{}}"#])
    #expect(try await metadata(tokens[0]) == before)
    #expect(try await members("owner") == Set(tokens))
    #expect(try await members("thief").isEmpty)
  }

  @Test func `a registration takes over a device that was imported`() async throws {
    let token = fleet.uniqueToken()
    let file = try write("device_token,environment\n\(token),production\n")
    #expect(try await fleet.martlet("tokens", "import", file, "--from", "rpush", "--bundle", "com.r").exitCode == 0)
    try await fleet.register([token], to: "alice", bundleID: "com.r")
    #expect(try await metadata(token)?.username == "alice")
    #expect(try await members("alice") == [token])
  }

  @Test func `what cannot be imported is refused with a reason`() async throws {
    let file = try write("token,enviroment\n")
    let words = ["tokens", "import", file]
    for (wrong, text) in [
      (["--from", "pigeon"], "--from takes sns, onesignal, notification-hubs, gorush, rpush or csv"),
      (["--from", "csv", "--bundle", "com a"], "import takes one --bundle, the bundle id of an app"),
      (["--from", "csv", "--bundle", "a", "--bundle", "b"], "import takes one --bundle, the bundle id of an app"),
      (["--dry-run"], "--dry-run is for import --from only"),
      (["--bundle", "a"], "--bundle is for import --from only"),
      (["--from", "csv", "--output", "x"], "--output is for migrate only"),
    ] {
      let child = try await fleet.martlet(words + wrong)
      #expect(child.exitCode == 2, "\(wrong)")
      #expect(child.lines.contains { $0.contains(text) }, "\(wrong): \(child.lines)")
    }
    for dry in [[], ["--dry-run"]] {
      let child = try await fleet.martlet(words + ["--from", "csv"] + dry)
      #expect(child.exitCode == 1)
      #expect(
        child.lines.last?.hasPrefix("martlet tokens: \(file): line 1, byte 0: unknown column 'enviroment'") == true)
    }
  }

  @Test(arguments: [("1f8b", "gunzip -c"), ("504b0304", "unzip -p"), ("28b52ffd", "zstd -dc")])
  func `a compressed file is recognised, and the fault says how to unpack it`(magic: String, command: String)
    async throws
  {
    let directory = try TemporaryDirectory()
    let file = directory.path + "/devices.csv.gz"
    let bytes = stride(from: 0, to: magic.count, by: 2).map { place in
      UInt8(magic.dropFirst(place).prefix(2), radix: 16) ?? 0
    }
    try Data(bytes + Array(repeating: 0, count: 100)).write(to: URL(filePath: file))
    for words in [["--from", "onesignal", "--bundle", "com.a"], ["--from", "csv", "--dry-run"], []] {
      let child = try await fleet.martlet(["tokens", "import", file] + words)
      #expect(child.exitCode == 1)
      #expect(child.lines.joined().contains("\(command) \(file) > devices"), "\(child.lines)")
    }
  }
}
