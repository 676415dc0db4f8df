import FleetSupport
import Foundation
import JSON
import Redis
import Testing
import TestSupport
@testable import LiveActivities

/// Live Activities through the real processes: tokens over HTTP, jobs over Redis, pushes to the simulator.
@Suite(.serialized) struct LiveActivityFleetTests {
  private static let shared = Task { try await Fleet() }
  private static let sharedSidecar = Task { try await shared.value.sidecar() }
  private let fleet: Fleet
  private let sidecar: SidecarProcess

  init() async throws {
    fleet = try await Self.shared.value
    sidecar = try await Self.sharedSidecar.value
    try await fleet.gateway.reset()
  }

  private func register(_ token: String, _ path: String, of user: String) async throws {
    let answer = try await sidecar.ask("/activities/\(path)", as: user, #"{"token":"\#(token)"}"#, method: "PUT")
    #expect(answer.status == 200)
  }

  private func pushes(to token: String) async throws -> [GatewayLedger.Push] {
    try await fleet.gateway.recent(1000).filter { $0.token == token }
  }

  private func start(_ id: String, _ activity: String, of user: String) -> String {
    #"{"id":"\#(id)","to":{"user":"\#(user)"},"title":"T","liveActivity":{"event":"start","id":"\#(activity)","#
      + #""attributesType":"Match","attributes":{"home":"A"},"contentState":{"score":0}}}"#
  }

  private func update(
    _ id: String, _ activity: String, _ event: String = "update", at: Int64? = nil, isShared: Bool = false
  ) -> String {
    let timestamp = at.map { #","timestamp":\#($0)"# } ?? ""
    let shared = isShared ? #","shared":true"# : ""
    return #"{"id":"\#(id)","to":{"activity":"\#(activity)"},"#
      + #""liveActivity":{"event":"\#(event)","contentState":{"by":"\#(id)"}\#(timestamp)\#(shared)}}"#
  }

  @Test func `an activity is started once, updated through its token and ended`() async throws {
    let (user, activity) = (try await fleet.userWithCredentials("live"), fleet.unique("activity"))
    let (starter, token) = (fleet.uniqueToken(), fleet.uniqueToken())
    try await register(starter, "types/Match", of: user)
    let worker = try await fleet.worker()
    try await fleet.enqueue(start(activity + "-s", activity, of: user), on: worker.queue)
    #expect(try await fleet.record(activity + "-s").status == "accepted")
    let push = try #require(try await pushes(to: starter).first)
    #expect(push.topic == "com.example.demo.push-type.liveactivity")
    #expect(push.pushType == "liveactivity")
    #expect(push.priority == "10")
    #expect(push.collapseId == activity)
    try await fleet.enqueue(start(activity + "-s2", activity, of: user), on: worker.queue)
    #expect(try await fleet.record(activity + "-s2").status == "duplicate")
    try await register(token, activity, of: user)
    try await fleet.enqueue(update(activity + "-u", activity), on: worker.queue)
    #expect(try await fleet.record(activity + "-u").status == "accepted")
    #expect(try await pushes(to: token).map(\.priority) == ["5"])
    try await fleet.enqueue(update(activity + "-e", activity, "end"), on: worker.queue)
    #expect(try await fleet.record(activity + "-e").status == "accepted")
    try await fleet.enqueue(update(activity + "-l", activity), on: worker.queue)
    let late = try await fleet.record(activity + "-l")
    #expect(late.status == "superseded")
    #expect(late.reason == "superseded by \(activity)-e")
    #expect(try await pushes(to: token).count == 2)
    #expect(try await pushes(to: starter).count == 1)
  }

  @Test func `the newest state waits for the token, and an older one is superseded`() async throws {
    let (user, activity) = (try await fleet.userWithCredentials("wait"), fleet.unique("activity"))
    let token = fleet.uniqueToken()
    let worker = try await fleet.worker()
    try await fleet.enqueue(update(activity + "-1", activity, at: 1_800_000_001, isShared: true), on: worker.queue)
    try await eventually("the state waits") {
      try await fleet.redis("GET", "push:result:\(activity)-1").string?.contains(#""reason":"no_token_yet""#) == true
    }
    try await fleet.enqueue(update(activity + "-2", activity, at: 1_800_000_002, isShared: true), on: worker.queue)
    #expect(try await fleet.record(activity + "-1").status == "superseded")
    try await register(token, activity, of: user)
    let record = try await fleet.record(activity + "-2")
    #expect(record.status == "accepted")
    #expect(record.results.map(\.token) == [token])
    try await fleet.settled(worker.queue)
    #expect(try await pushes(to: token).count == 1)
  }

  private struct Explanation: Decodable {
    struct Token: Decodable {
      let token: String
      let current: Bool?
    }

    let outcome: String
    let tokens: [Token]
    let starts: Int
    let channel: String?
    let findings: [Finding]

    struct Finding: Decodable { let sentence: String }
  }

  private func explain(_ activity: String, on queue: String, exitCode: Int32 = 0) async throws -> Explanation {
    let child = try await fleet.martlet(
      ["explain", "--activity", activity, "--json"], environment: ["MARTLET_QUEUES": queue])
    #expect(child.exitCode == exitCode)
    return try JSONDecoder().decode(Explanation.self, from: Data((child.lines.first ?? "").utf8))
  }

  @Test func `explain tells of an activity what waits, and what each token has`() async throws {
    let (user, activity) = (try await fleet.userWithCredentials("told"), fleet.unique("activity"))
    let (starter, token) = (fleet.uniqueToken(), fleet.uniqueToken())
    let worker = try await fleet.worker()
    #expect(try await explain(activity, on: worker.queue, exitCode: 1).outcome.hasPrefix("Nothing is known of"))
    try await register(starter, "types/Match", of: user)
    try await fleet.enqueue(start(activity + "-s", activity, of: user), on: worker.queue)
    #expect(try await fleet.record(activity + "-s").status == "accepted")
    let started = try await explain(activity, on: worker.queue)
    #expect(started.outcome.hasSuffix("was started on 1 device; the app has registered no update token yet."))
    #expect(started.starts == 1 && started.channel == nil)
    try await fleet.enqueue(update(activity + "-u", activity), on: worker.queue)
    try await eventually("the state waits") {
      try await explain(activity, on: worker.queue).outcome.hasSuffix("\(activity)-u, which waits for an update token.")
    }
    try await register(token, activity, of: user)
    #expect(try await fleet.record(activity + "-u").status == "accepted")
    let told = try await explain(activity, on: worker.queue)
    #expect(told.outcome.hasSuffix("\(activity)-u; APNs accepted it for 1 device."))
    #expect(told.tokens.map(\.token) == ["\(token.prefix(8))…"] && told.tokens.first?.current == true)
  }

  @Test func `a token that is registered late gets the newest state once`() async throws {
    let (user, activity) = (try await fleet.userWithCredentials("late"), fleet.unique("activity"))
    let (first, second) = (fleet.uniqueToken(), fleet.uniqueToken())
    let worker = try await fleet.worker()
    try await register(first, activity, of: user)
    try await fleet.enqueue(update(activity + "-1", activity, isShared: true), on: worker.queue)
    #expect(try await fleet.record(activity + "-1").status == "accepted")
    try await register(second, activity, of: user)
    try await eventually("the late token gets the state") { try await pushes(to: second).count == 1 }
    try await register(second, activity, of: user)
    try await fleet.settled(worker.queue)
    #expect(try await pushes(to: second).count == 1)
    #expect(try await pushes(to: first).count == 1)
  }

  @Test func `a 410 ends the activity on that device alone`() async throws {
    let (user, activity) = (try await fleet.userWithCredentials("gone"), fleet.unique("activity"))
    let (gone, alive, phone) = (fleet.uniqueToken(), fleet.uniqueToken(), fleet.uniqueToken())
    let worker = try await fleet.worker()
    #expect(try await sidecar.push("register", as: user, #"{"token":"\#(phone)"}"#).status == 200)
    for token in [gone, alive] { try await register(token, activity, of: user) }
    try await fleet.gateway.device(gone, #""rule":"unregistered","since":4000000000000"#)
    try await fleet.enqueue(update(activity + "-1", activity, isShared: true), on: worker.queue)
    let record = try await fleet.record(activity + "-1")
    #expect(record.status == "partial")
    #expect(record.stale == 1)
    try await eventually("the token is removed") { try await fleet.redis("EXISTS", "push:token:\(gone)").integer == 0 }
    #expect(try await fleet.redis("HKEYS", "push:activity:\(activity):tokens").array?.map(\.string) == [alive])
    #expect(try await fleet.redis("EXISTS", "push:token:\(phone)").integer == 1)
  }

  @Test func `a job that is for a user's devices of an activity reaches only them`() async throws {
    let (alice, bob) = (try await fleet.userWithCredentials("own"), try await fleet.userWithCredentials("own"))
    let (activity, hers, his) = (fleet.unique("activity"), fleet.uniqueToken(), fleet.uniqueToken())
    let worker = try await fleet.worker()
    try await register(hers, activity, of: alice)
    try await register(his, activity, of: bob)
    let job = update(activity + "-1", activity).replacingOccurrences(
      of: #""to":{"#, with: #""to":{"user":"\#(alice)","#)
    try await fleet.enqueue(job, on: worker.queue)
    #expect(try await fleet.record(activity + "-1").status == "accepted")
    #expect(try await pushes(to: hers).count == 1)
    #expect(try await pushes(to: his).isEmpty)
  }

  @Test func `whoever guesses the id of an activity gets none of its states, and is in none of its records`()
    async throws
  {
    let (alice, eve) = (try await fleet.userWithCredentials("alice"), try await fleet.userWithCredentials("eve"))
    let (activity, starter) = (fleet.unique("order"), fleet.uniqueToken())
    let (hers, eves) = (fleet.uniqueToken(), (0..<10).map { _ in fleet.uniqueToken() })
    let worker = try await fleet.worker()
    for token in eves { try await register(token, activity, of: eve) }
    // No start is known: the state is nobody's.
    try await fleet.enqueue(update(activity + "-0", activity), on: worker.queue)
    try await eventually("the state waits") {
      try await fleet.redis("GET", "push:result:\(activity)-0").string?.contains(#""reason":"no_token_yet""#) == true
    }
    #expect(
      try await explain(activity, on: worker.queue).findings.contains {
        $0.sentence.hasPrefix("No start of it is known")
      })
    try await register(starter, "types/Match", of: alice)
    try await fleet.enqueue(start(activity + "-s", activity, of: alice), on: worker.queue)
    #expect(try await fleet.record(activity + "-s").status == "accepted")
    try await register(hers, activity, of: alice)
    try await register(eves[0], activity, of: eve)
    for (name, event) in [("-u", "update"), ("-e", "end")] {
      try await fleet.enqueue(update(activity + name, activity, event), on: worker.queue)
      #expect(try await fleet.record(activity + name).results.map(\.token) == [hers])
    }
    try await fleet.settled(worker.queue)
    #expect(try await pushes(to: hers).count == 2)
    for token in eves { #expect(try await pushes(to: token).isEmpty) }
    // Nobody's tokens are more than ten.
    try await register(fleet.uniqueToken(), activity, of: eve)
    #expect(try await fleet.redis("HLEN", "push:activity:\(activity):tokens").integer == 11)
  }

  @Test func `more than eight starts of a device in an hour are noted`() async throws {
    let user = try await fleet.userWithCredentials("many")
    try await register(fleet.uniqueToken(), "types/Match", of: user)
    let worker = try await fleet.worker()
    let activities = (0..<9).map { _ in fleet.unique("activity") }
    for activity in activities {
      try await fleet.enqueue(start(activity + "-s", activity, of: user), on: worker.queue)
      #expect(try await fleet.record(activity + "-s").status == "accepted")
    }
    var texts: [String] = []
    for activity in activities { texts.append(try await fleet.redis("GET", "push:result:\(activity)-s").string ?? "") }
    #expect(texts.map { $0.contains("tooManyStarts") } == Array(repeating: false, count: 8) + [true])
  }
}
