import FleetSupport
import Foundation
import Testing
import TestSupport
@testable import LiveActivities

/// `martlet channels` as a process, with a server of its own for channels.
@Suite(.serialized) struct ChannelsCommandTests {
  private static let shared = Task { try await Fleet() }
  private let fleet: Fleet
  private let server: FakeChannels

  init() async throws {
    fleet = try await Self.shared.value
    try await fleet.redis("FLUSHALL")
    server = try await FakeChannels.started()
  }

  private struct Row: Decodable, Equatable {
    var name: String?
    var environment = "production"
    var id: String?
    var storage: String?
    let state: String
  }

  private var settings: [String: String?] {
    get async throws {
      let authority = try String(contentsOfFile: fleet.gateway.ready.caCertificate, encoding: .utf8)
      return [
        "APNS_CHANNELS_ENDPOINT_OVERRIDE": await server.url,
        "APNS_CA_CERT": authority + server.certificate.chain,
      ]
    }
  }

  private func channels(_ words: String..., code: Int32 = 0) async throws -> (rows: [Row], errors: String) {
    let child = try await fleet.martlet(["channels"] + words + ["--json"], environment: try await settings)
    #expect(child.exitCode == code, "\(child.lines)")
    let rows = try child.lines(of: .output).map { try JSONDecoder().decode(Row.self, from: Data($0.utf8)) }
    return (rows, child.lines(of: .error).joined(separator: "\n"))
  }

  @Test func `a channel is created once, listed, shown and deleted`() async throws {
    let created = Row(name: "match", id: "channel1==", state: "created")
    #expect(try await channels("create", "match", "--storage", "none").rows == [created])
    #expect(try await channels("create", "match").rows == [Row(name: "match", id: "channel1==", state: "exists")])
    #expect(await server.channels == ["channel1==": 0])
    let listed = Row(name: "match", id: "channel1==", storage: "none", state: "ok")
    #expect(try await channels("list").rows == [listed])
    #expect(try await channels("show", "match").rows == [listed])
    #expect(try await channels("delete", "match").rows == [Row(name: "match", id: "channel1==", state: "deleted")])
    #expect(await server.channels == [:])
    #expect(try await channels("list").rows == [])
    #expect(try await channels("show", "match", code: 1).errors.contains("has no channel 'match'"))
    #expect(await server.authorizations.allSatisfy { $0.hasPrefix("bearer ") })
  }

  @Test func `a creation whose answer was lost leaves an orphan that can be adopted`() async throws {
    await server.loseAnswers(true)
    let failed = try await channels("create", "match", code: 1)
    #expect(failed.rows == [Row(name: "match", state: "failed")])
    #expect(failed.errors.contains("orphan"), "\(failed.errors)")
    await server.loseAnswers(false)
    #expect(try await channels("list").rows == [Row(id: "channel1==", state: "orphan")])
    let adopted = try await channels("adopt", "match", "--id", "channel1==", "--environment", "production")
    #expect(adopted.rows == [Row(name: "match", id: "channel1==", state: "adopted")])
    #expect(try await channels("list").rows == [Row(name: "match", id: "channel1==", storage: "newest", state: "ok")])
    let again = try await channels("adopt", "other", "--id", "channel1==", "--environment", "production", code: 1)
    #expect(again.errors.contains("it is the channel match already"))
    let unknown = try await channels("adopt", "other", "--id", "nothing", "--environment", "production", code: 1)
    #expect(unknown.errors.contains("ChannelNotRegistered"))
  }

  @Test func `an orphan is deleted by its id, and so is a channel with a name`() async throws {
    await server.addOrphan("orphan==")
    #expect(try await channels("delete", "orphan==").rows == [Row(id: "orphan==", state: "deleted")])
    #expect(try await channels("delete", "orphan==", code: 1).errors.contains("has no channel"))
    _ = try await channels("create", "match")
    #expect(try await channels("delete", "channel1==").rows == [Row(id: "channel1==", state: "deleted")])
    #expect(try await channels("list").rows == [])
  }

  @Test func `a channel that APNs has forgotten is missing, and can be created again`() async throws {
    _ = try await channels("create", "match")
    await server.forget("channel1==")
    #expect(
      try await channels("list").rows == [Row(name: "match", id: "channel1==", storage: "newest", state: "missing")])
    #expect(try await channels("delete", "match").rows == [Row(name: "match", id: "channel1==", state: "gone")])
    #expect(try await channels("create", "match").rows == [Row(name: "match", id: "channel2==", state: "created")])
  }

  @Test func `a refusal is named and says what to do`() async throws {
    _ = try await channels("create", "match")
    await server.refuseAll(with: 400, "FeatureNotEnabled")
    let failed = try await channels("create", "other", code: 1)
    #expect(failed.errors.contains("400 FeatureNotEnabled. Enable Broadcast Capability"), "\(failed.errors)")
    let listed = try await channels("list", code: 1)
    #expect(listed.rows == [Row(name: "match", id: "channel1==", storage: "newest", state: "unknown")])
    #expect(listed.errors.contains("FeatureNotEnabled"))
    // Nothing is forgotten that APNs may still have.
    _ = try await channels("delete", "match", code: 1)
    await server.acceptAll()
    #expect(try await channels("list").rows.map(\.state) == ["ok"])
  }

  @Test func `the storage policy of a channel cannot be changed`() async throws {
    _ = try await channels("create", "match", "--storage", "newest")
    #expect(try await channels("create", "match", "--storage", "none", code: 1).errors.contains("delete it first"))
  }

  @Test(arguments: [
    ["create"], ["create", "a b"], ["list", "x"], ["create", "a", "--storage", "some"], ["adopt", "a"],
    ["adopt", "a", "--id", "x"], ["delete", "a b"], ["list", "--app", "a b"],
  ])
  func `wrong words are refused`(words: [String]) async throws {
    let child = try await fleet.martlet(["channels"] + words, environment: try await settings)
    #expect(child.exitCode == 2, "\(child.lines)")
  }

  @Test func `doctor asks the origins only if an app has channels, or if it is asked`() async throws {
    func findings(_ words: String...) async throws -> [String] {
      let child = try await fleet.martlet(["doctor", "--json"] + words, environment: try await settings)
      return child.lines(of: .output).filter { $0.contains("channels of") || $0.contains("broadcasts of") }
    }
    #expect(try await findings() == [])
    #expect(try await findings("--channels").count == 2)
    _ = try await channels("create", "match")
    let found = try await findings()
    #expect(found.count == 2)
    let url = await server.url
    #expect(found.contains { $0.contains(url) && $0.contains("403 MissingProviderToken") && $0.contains(#""ok""#) })
  }
}
