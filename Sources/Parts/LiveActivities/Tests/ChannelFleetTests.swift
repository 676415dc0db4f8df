import FleetSupport
import Foundation
import Queue
import Redis
import Testing
import TestSupport
@testable import LiveActivities

/// Jobs to a channel, from the command that creates it to the broadcast.
@Suite(.serialized) struct ChannelFleetTests {
  private static let shared = Task { try await Fleet(hasBothEnvironments: true) }
  private let fleet: Fleet
  private let queue: String

  init() async throws {
    fleet = try await Self.shared.value
    queue = fleet.unique("channels")
  }

  private struct SimulatedChannel: Decodable {
    let channelId: String
    let broadcasts: Int
  }

  /// The channels of a gateway, by their ids, with the number of broadcasts.
  private func broadcasts(_ gateway: SimulatedGateway) async throws -> [String: Int] {
    let json = Data(try await gateway.control("/channels").utf8)
    let channels = try JSONDecoder().decode([SimulatedChannel].self, from: json)
    return Dictionary(uniqueKeysWithValues: channels.map { ($0.channelId, $0.broadcasts) })
  }

  private var settings: [String: String?] { ["APNS_CHANNELS_ENDPOINT_OVERRIDE": fleet.gateway.ready.channels] }

  private struct Created: Decodable { let id: String }

  /// Creates a channel with `martlet channels`, and returns its id.
  private func create(
    _ name: String, _ words: String..., environment: [String: String?]? = nil
  ) async throws -> String {
    let child = try await fleet.martlet(
      ["channels", "create", name, "--json"] + words, environment: environment ?? settings)
    #expect(child.exitCode == 0, "\(child.lines)")
    return try JSONDecoder().decode(Created.self, from: Data(child.lines(of: .output).joined().utf8)).id
  }

  private func job(_ id: String, to channel: String, _ rest: String = "", event: String = "update") -> String {
    let activity = #"{"event":"\#(event)","contentState":{"score":1}}"#
    return #"{"id":"\#(id)","to":{"channel":"\#(channel)"},"liveActivity":\#(activity)\#(rest)}"#
  }

  @Test func `an update and an end reach the channel, with and without storage`() async throws {
    let worker = try await fleet.worker(on: queue)
    for storage in ["newest", "none"] {
      let channel = try await create("match-\(storage)", "--storage", storage)
      for (event, rest) in [("update", ""), ("update", #","ttl":60"#), ("end", #","title":"over""#)] {
        let id = fleet.unique("job")
        try await fleet.enqueue(job(id, to: "match-\(storage)", rest, event: event), on: queue)
        let record = try await fleet.record(id)
        #expect(record.status == "accepted", "\(record)")
        #expect(record.accepted == 1)
        #expect(record.device(channel)?.status == 200)
      }
      #expect(try await broadcasts(fleet.gateway)[channel] == 3)
    }
    #expect(try await worker.stop() == 0)
  }

  @Test func `a channel that is not known, or not known any more, is named`() async throws {
    let worker = try await fleet.worker(on: queue)
    let id = fleet.unique("job")
    try await fleet.enqueue(job(id, to: "nowhere"), on: queue)
    let dead = try #require(try await fleet.deadLetters(queue, count: 1).first)
    #expect(
      dead.reason.contains("has no channel nowhere; create it: martlet channels create nowhere"), "\(dead.reason)")
    let channel = try await create("deleted")
    try await fleet.gateway.control("/channels", "-X", "DELETE")
    let late = fleet.unique("job")
    try await fleet.enqueue(job(late, to: "deleted"), on: queue)
    let record = try await fleet.record(late)
    #expect(record.status == "failed")
    #expect(record.device(channel)?.reason == "ChannelNotRegistered")
    let explained = try await fleet.martlet(["explain", late], environment: ["MARTLET_QUEUES": queue])
    let text = explained.lines.joined(separator: "\n")
    #expect(text.contains("The channel exists in 1 environment."), "\(text)")
    #expect(!text.contains("device"), "\(text)")
    #expect(try await worker.stop() == 0)
  }

  @Test func `explain says of an activity that a channel updates it`() async throws {
    let (activity, token) = (fleet.unique("activity"), fleet.uniqueToken())
    _ = try await create("cup")
    let worker = try await fleet.worker(on: queue)
    let start =
      #"{"id":"\#(activity)-s","to":{"token":"\#(token)"},"title":"T","liveActivity":{"event":"start","id":"\#(activity)","#
      + #""attributesType":"Match","attributes":{},"contentState":{},"inputChannel":"cup"}}"#
    try await fleet.enqueue(start, on: queue)
    #expect(try await fleet.record(activity + "-s").status == "accepted")
    let explained = try await fleet.martlet(
      ["explain", "--activity", activity], environment: ["MARTLET_QUEUES": queue])
    #expect(explained.exitCode == 0)
    #expect(explained.lines.contains { $0.contains("channel cup updates it, so it has no update token.") })
    #expect(try await worker.stop() == 0)
  }

  /// The channel is of one environment, so the start is not tried in the other one, where the token may be known.
  @Test func `a token that one environment refuses is not removed because of a start by channel`() async throws {
    let (user, activity, token) = (fleet.unique("user"), fleet.unique("activity"), fleet.uniqueToken())
    _ = try await create("one-sided")
    let device = #"{"username":"\#(user)","platform":"ios","updatedAt":1,"kind":"pushtostart","activity":"Match"}"#
    try await fleet.redis("SET", "push:token:\(token)", device)
    try await fleet.redis("SADD", "push:user:\(user):tokens", token)
    try await fleet.gateway.device(token, #""rule":"bad""#)
    let worker = try await fleet.worker(on: queue)
    let start =
      #"{"id":"\#(activity)","to":{"user":"\#(user)"},"title":"T","liveActivity":{"event":"start","id":"\#(activity)","#
      + #""attributesType":"Match","attributes":{},"contentState":{},"inputChannel":"one-sided"}}"#
    try await fleet.enqueue(start, on: queue)
    let record = try await fleet.record(activity)
    #expect(record.status == "failed" && record.device(token)?.reason == "BadDeviceToken", "\(record)")
    #expect(try await fleet.redis("EXISTS", "push:token:\(token)").integer == 1)
    #expect(try await worker.stop() == 0)
  }

  @Test func `broadcasts go to another origin if a setting names it, and pushes do not`() async throws {
    let other = try #require(fleet.sandbox)
    let settings: [String: String?] = [
      "APNS_CHANNELS_ENDPOINT_OVERRIDE": other.ready.channels, "APNS_BROADCAST_ENDPOINT_OVERRIDE": other.ready.url,
    ]
    let channel = try await create("elsewhere", environment: settings)
    let worker = try await fleet.worker(settings, on: queue)
    let (broadcast, push, token) = (fleet.unique("job"), fleet.unique("job"), fleet.uniqueToken())
    try await fleet.enqueue(
      job(broadcast, to: "elsewhere"), #"{"id":"\#(push)","to":{"token":"\#(token)"},"title":"hi"}"#, on: queue)
    #expect(try await fleet.record(broadcast).status == "accepted")
    #expect(try await fleet.record(push).status == "accepted")
    #expect(try await broadcasts(other)[channel] == 1)
    #expect(try await fleet.gateway.recent().contains { $0.token == token })
    #expect(try await worker.stop() == 0)
  }
}
