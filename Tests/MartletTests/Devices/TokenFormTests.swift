import PushModel
import FleetSupport
import Redis
import Registry
import Testing
import TestSupport

/// Devices whose token another program keeps in upper case, while the fleet runs.
struct TokenFormTests {
  /// Stores a device as another program does.
  private func store(_ entry: String, of user: String, at time: Int64, _ fleet: Fleet) async throws {
    let metadata = #"{"username":"\#(user)","platform":"ios","updatedAt":\#(time)}"#
    _ = try await fleet.redis("SET", RegistryKeys.token(entry: entry), metadata)
    _ = try await fleet.redis("SADD", RegistryKeys.userTokens(Username(user)), entry)
  }

  @Test func `a device gets a job once, whichever form of its token is stored`() async throws {
    let fleet = try await Fleet()
    let worker = try await fleet.worker()
    let (single, both) = (fleet.uniqueToken(), fleet.uniqueToken())
    let user = fleet.unique("form")
    try await store(single.uppercased(), of: user, at: 1, fleet)
    try await store(both, of: user, at: 1, fleet)
    try await store(both.uppercased(), of: user, at: 2, fleet)
    let id = fleet.unique("to-user")
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"user":"\#(user)"},"title":"Once"}"#, on: worker.queue)
    let record = try await fleet.record(id)
    #expect(record.accepted == 2)
    #expect(Set(record.results.map(\.token)) == [single, both])
    let members = try await fleet.redis("SMEMBERS", RegistryKeys.userTokens(Username(user))).array?.compactMap(\.string)
    #expect(Set(members ?? []) == [single, both])
    #expect(try await fleet.gateway.ledger().distinct == 2)
    #expect(try await worker.stop() == 0)
  }

  @Test func `a device under a text that is no token of APNs is sent nothing, is told so, and stays`() async throws {
    let fleet = try await Fleet()
    let worker = try await fleet.worker()
    let (token, user) = (fleet.uniqueToken(), fleet.unique("form"))
    let stranger = "c2Vy:APA91bHPRgkFLJu6ORcVbKPzK5UlM2u6tVYnqY2j8lH4"
    for entry in [token, stranger] { try await store(entry, of: user, at: 1, fleet) }
    for to in [#"{"user":"\#(user)"}"#, #"{"tokens":["\#(token)","\#(stranger)"]}"#] {
      let id = fleet.unique("stranger")
      try await fleet.enqueue(#"{"id":"\#(id)","to":\#(to),"title":"Hello"}"#, on: worker.queue)
      let record = try await fleet.record(id)
      #expect((record.status, record.accepted, record.failed, record.stale) == ("partial", 1, 1, 0))
      #expect(record.device(stranger)?.status == 0)
      #expect(record.device(stranger)?.reason == "NotAnAPNsToken")
    }
    let members = try await fleet.redis("SMEMBERS", RegistryKeys.userTokens(Username(user))).array?.compactMap(\.string)
    #expect(Set(members ?? []) == [token, stranger])
    #expect(try await fleet.gateway.recent().allSatisfy { $0.token == token })
    #expect(!worker.process.lines.contains { $0.contains("APNs refuse") })
    #expect(try await worker.stop() == 0)
  }

  @Test func `a job that names a device in both forms is sent once`() async throws {
    let fleet = try await Fleet()
    let worker = try await fleet.worker()
    let token = fleet.uniqueToken()
    let id = fleet.unique("to-tokens")
    try await fleet.enqueue(
      #"{"id":"\#(id)","to":{"tokens":["\#(token)","\#(token.uppercased())"]},"title":"Once"}"#, on: worker.queue)
    #expect(try await fleet.record(id).results.map(\.token) == [token])
    #expect(try await worker.stop() == 0)
  }

  @Test func `a device that another user has registered later in upper case is that user's within a walk`() async throws
  {
    let fleet = try await Fleet()
    let token = fleet.uniqueToken()
    let (alice, bob) = (fleet.unique("alice"), fleet.unique("bob"))
    try await store(token, of: alice, at: 1, fleet)
    try await store(token.uppercased(), of: bob, at: 2, fleet)
    let worker = try await fleet.worker()
    try await eventually("the device is bob's") {
      try await fleet.redis("SMEMBERS", RegistryKeys.userTokens(Username(bob))).array?.map(\.string) == [token]
    }
    let id = fleet.unique("to-alice")
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"user":"\#(alice)"},"title":"Private"}"#, on: worker.queue)
    #expect(try await fleet.record(id).status == "no_devices")
    #expect(try await worker.stop() == 0)
  }
}
