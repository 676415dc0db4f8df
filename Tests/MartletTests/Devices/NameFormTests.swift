import EventLoop
import FleetSupport
import JSON
import Redis
import Registry
import Testing
import TestSupport
@testable import Credentials
@testable import Queue

/// A Redis that 2.0.0 has filled, with the name of a user in two forms of Unicode, which were two users to it.
///
/// The keys of users, devices and credentials are those that programs of 2.0.0 write: `martlet credentials add user` of both
/// forms, `POST /api/push/register` of each with its secret (a phone by both, one after the other: it stayed in the first one's
/// set) and `PUT /activities/<id>`. One token is in upper case, as another program stores it.
struct NameFormTests {
  /// What is stored, of one test.
  private struct Stored {
    let composed: String
    let decomposed: String
    let activity: String
    /// Registered by the first form, by the second one, and by both.
    let ofComposed: [String]
    let ofDecomposed: [String]
    let ofBoth: String
    /// Of a device of the second form; stored in upper case.
    let upperCase: String
    let activityToken: String

    var phones: Set<String> { Set(ofComposed + ofDecomposed + [ofBoth, upperCase]) }
    var forms: [String] { [composed, decomposed] }

    init(_ fleet: Fleet) {
      let name = fleet.unique("form")
      (composed, decomposed) = (name + "-jos\u{e9}", name + "-jose\u{301}")
      activity = name + "-order"
      (ofComposed, ofDecomposed) = (fleet.uniqueTokens(2), fleet.uniqueTokens(2))
      (ofBoth, upperCase, activityToken) = (fleet.uniqueToken(), fleet.uniqueToken(), fleet.uniqueToken())
    }
  }

  private static let cluster = Task { try await RedisCluster(replicas: 0) }
  private static let secrets = ["of-the-composed-form", "of-the-decomposed-form"]

  private func fleet(onCluster: Bool) async throws -> Fleet {
    onCluster ? try await Fleet(cluster: try await Self.cluster.value) : try await Fleet()
  }

  private func device(_ user: String, _ entry: String, at time: Int64, _ fleet: Fleet) async throws {
    let metadata =
      #"{"username":"\#(user)","platform":"ios","updatedAt":\#(time),"bundleId":"com.example.app","createdAt":1}"#
    try await fleet.redis("SET", RegistryKeys.token(entry: entry), metadata)
    try await fleet.redis("SADD", "push:user:\(user):tokens", entry)
  }

  private func store(_ fleet: Fleet) async throws -> Stored {
    let stored = Stored(fleet)
    for token in stored.ofComposed { try await device(stored.composed, token, at: 1, fleet) }
    for token in stored.ofDecomposed { try await device(stored.decomposed, token, at: 2, fleet) }
    try await device(stored.composed, stored.ofBoth, at: 3, fleet)
    try await device(stored.decomposed, stored.ofBoth, at: 4, fleet)
    try await device(stored.decomposed, stored.upperCase.uppercased(), at: 5, fleet)
    let metadata =
      #"{"username":"\#(stored.decomposed)","platform":"ios","updatedAt":6,"bundleId":"com.example.app","#
      + #""createdAt":6,"kind":"activity","activity":"\#(stored.activity)"}"#
    try await fleet.redis("SET", RegistryKeys.token(entry: stored.activityToken), metadata, "EX", "40000")
    try await fleet.redis("SADD", "push:user:\(stored.decomposed):tokens", stored.activityToken)
    try await fleet.redis("HSET", RegistryKeys.activityTokens(stored.activity), stored.activityToken, metadata)
    for (form, secret) in zip(stored.forms, Self.secrets) {
      let digest = Credential.digest(of: form + secret)
      try await fleet.redis(
        "HSET", "martlet:{credentials}:user", form, #"{"sha256":"\#(digest)","createdAt":1,"enabled":true}"#)
      try await fleet.redis("HSET", "martlet:{credentials}:user:digests", digest, form)
      let record = #"{"id":"polled-\#(secret)","status":"accepted","at":1,"payload":{}}"#
      try await fleet.redis("XADD", "push:user:\(form):notifications", "*", "notification", record)
    }
    return stored
  }

  /// What each set has, and whose the tokens in it are; the names as bytes, as texts of both forms are equal.
  private func isOneUser(_ stored: Stored, _ fleet: Fleet) async throws -> Bool {
    let key = "push:user:\(stored.composed):tokens"
    let members = try await fleet.redis("SMEMBERS", key).array?.compactMap(\.string) ?? []
    guard Set(members) == stored.phones.union([stored.activityToken]),
      try await fleet.redis("EXISTS", "push:user:\(stored.decomposed):tokens").integer == 0
    else { return false }
    for token in members {
      let bytes = try await fleet.redis("GET", RegistryKeys.token(entry: token)).bytes.map { Array($0) } ?? []
      let name = try JSONValue(parsing: bytes)["username"]?.string ?? ""
      guard Array(name.utf8) == Array(stored.composed.utf8) else { return false }
    }
    return true
  }

  @Test(arguments: [false, true]) func `each phone gets a job once, whichever form its owner's name is stored in`(
    onCluster: Bool
  ) async throws {
    let fleet = try await fleet(onCluster: onCluster)
    let stored = try await store(fleet)
    let worker = try await fleet.worker()
    for (place, form) in stored.forms.enumerated() {
      let id = "\(stored.activity)-\(place)"
      try await fleet.enqueue(#"{"id":"\#(id)","to":{"user":"\#(form)"},"title":"Once"}"#, on: worker.queue)
      let record = try await fleet.record(id)
      #expect(record.accepted == stored.phones.count, "\(place): \(record)")
      #expect(Set(record.results.map(\.token)) == stored.phones, "\(place): \(record)")
    }
    let sent = try await fleet.gateway.recent().compactMap(\.token).filter { stored.phones.contains($0) }
    #expect(sent.count == 2 * stored.phones.count)
    #expect(Set(sent) == stored.phones)
    #expect(try await worker.stop() == 0)
  }

  @Test(arguments: [false, true]) func `within a walk both forms are one user, who keeps every device`(onCluster: Bool)
    async throws
  {
    let fleet = try await fleet(onCluster: onCluster)
    let stored = try await store(fleet)
    try await fleet.redis("DEL", "martlet:{registry}:walk")
    let worker = try await fleet.worker()
    try await eventually("all devices are those of one user") { try await isOneUser(stored, fleet) }
    #expect(try await worker.stop() == 0)
  }

  @Test(arguments: [false, true]) func `both secrets are the user's, in either form, who polls what both were sent`(
    onCluster: Bool
  ) async throws {
    let fleet = try await fleet(onCluster: onCluster)
    let stored = try await store(fleet)
    try await fleet.redis("DEL", "martlet:{registry}:walk")
    let worker = try await fleet.worker()
    try await eventually("all devices are those of one user") { try await isOneUser(stored, fleet) }
    let sidecar = try await fleet.sidecar()
    for form in stored.forms {
      for (owner, secret) in zip(stored.forms, Self.secrets) {
        let answer = try await ChildProcess.run(
          "curl",
          [
            "-sS", "-H", "Authorization: Bearer \(owner + secret)", "-H", "X-Username: \(form)",
            "http://127.0.0.1:\(sidecar.port)/notifications",
          ])
        for polled in Self.secrets { #expect(answer.contains("polled-\(polled)"), "\(secret): \(answer)") }
      }
    }
    try await sidecar.stop()
    #expect(try await worker.stop() == 0)
  }
}
