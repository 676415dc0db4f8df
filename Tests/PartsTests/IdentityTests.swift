import Crypto
import EventLoop
import HTTPServer
import JSON
import PushModel
import Redis
import Registry
import Sidecar
import SidecarSupport
import Testing
import TestSupport
@testable import Credentials
@testable import Queue

/// Nobody is believed for naming a thing: SECURITY.md. Every operation of openapi.json is asked by everyone else for what is
/// alice's, the key's of another app, or another instance's.
@EventLoop
struct IdentityTests {
  private static let (app, otherApp) = ("com.identity.a", "com.identity.b")
  private static let (token, activityToken) = (SHA256.hex("identity-alice"), SHA256.hex("identity-activity"))
  private static let (activity, phone, instance) = ("identity-order-1042", "identity-phone", "identity-home")
  /// Users who are easily taken for each other; the last is the first in another form.
  private static let (user, eve, spelled) = ("identity-jos\u{e9}", "identity-jose", "identity-jose\u{301}")
  private static let query = "?userId=" + String(percentEncoding: user)
  private static let text = "what only alice may read"

  /// Who asks, and whether they hold the tokens that they name: an app that registers a token has it from its phone.
  private struct Caller {
    let name: String
    let headers: [String: String]
    var ownToken: String { SHA256.hex("identity-of-\(name)") }
  }

  /// An operation of the description, with the victim's ids in all places.
  private struct Operation: CustomStringConvertible {
    let method: String
    let path: String
    let body: String?
    var description: String { "\(method) \(path) \(body ?? "")" }
  }

  private func fixture() async throws -> SidecarFixture {
    let parts = try SidecarParts(app: Self.app)
    return try await SidecarFixture {
      $0.bundleID = Self.app
      $0.apis = parts.apis
      $0.queue = "push:jobs:identity"
      $0.failureLimit = WindowLimit(10_000, per: .seconds(60))
    }
  }

  private func credential(_ kind: Credential.Kind, _ name: String, apps: Set<String>) -> Credential {
    Credential(
      kind: kind, name: name, digest: Credential.digest(of: name + "-secret-of-16"), createdAt: 1,
      apps: AppBinding(apps))
  }

  /// The victims: alice with a device and a token of her activity, an instance with its device.
  private func settle(_ fixture: SidecarFixture) async throws -> [String: String] {
    let alice = try await fixture.user(Self.user)
    let device = #""bundleId":"\#(Self.app)","deviceId":"\#(Self.phone)""#
    #expect(try await fixture.push("register", alice, #"{"token":"\#(Self.token)",\#(device)}"#).status == 200)
    let body = #"{"token":"\#(Self.activityToken)",\#(device)}"#
    #expect(try await fixture.request("PUT", "/activities/\(Self.activity)", alice, body: body).status == 200)
    let record = #"{"id":"j","status":"accepted","at":1,"title":"\#(Self.text)"}"#
    for stream in [QueueKeys.notifications(Self.user), "push:instance:\(Self.instance):notifications"] {
      _ = try await fixture.run("DEL", stream)
      _ = try await fixture.run("XADD", stream, "*", "notification", record)
    }
    try await fixture.allow(.instance, Self.instance, secret: Self.instance + "-secret-of-16")
    let home = ["X-Nyra-Device-Key": Self.instance + "-secret-of-16", "X-Nyra-Instance-Id": Self.instance]
    let own = #"{"apns_device_token":"\#(SHA256.hex("identity-home"))","environment":"production"}"#
    #expect(try await fixture.request("POST", "/push/apns/register", home, body: own).status / 100 == 2)
    let state = #"{"members":["\#(Self.user)"],"starts":{"phone:x\n\#(Self.user)":"n"}}"#
    _ = try await fixture.run("SET", "push:activity:\(Self.activity)", state)
    return alice
  }

  private func callers(_ fixture: SidecarFixture) async throws -> [Caller] {
    let eve = try await fixture.user(Self.eve)
    for credential in [
      credential(.key, "identity-key", apps: [Self.otherApp]), credential(.instance, "identity-other", apps: []),
    ] { _ = try await fixture.backend.credentials.add(credential) }
    let other = ["X-Nyra-Device-Key": "identity-other-secret-of-16", "X-Nyra-Instance-Id": "identity-other"]
    return [
      Caller(name: "eve", headers: eve),
      Caller(name: "eve who says that she is alice", headers: eve.merging(["X-Username": Self.user]) { $1 }),
      Caller(
        name: "eve who writes alice's name in another form",
        headers: eve.merging(["X-Username": Self.spelled]) { $1 }),
      Caller(name: "a key of another app", headers: ["X-API-Key": "identity-key-secret-of-16"]),
      Caller(name: "another instance", headers: other),
      Caller(
        name: "another instance that says it is this one",
        headers: other.merging(["X-Nyra-Instance-Id": Self.instance]) { $1 }),
      Caller(name: "nobody", headers: [:]),
    ]
  }

  /// All that belongs to the victims.
  private func belongings(_ fixture: SidecarFixture) async throws -> [String] {
    let reads = [
      RedisCommand("GET", RegistryKeys.token(entry: Self.token)),
      RedisCommand("GET", RegistryKeys.token(entry: Self.activityToken)),
      RedisCommand("GET", RegistryKeys.instance(Self.instance)),
      RedisCommand("SISMEMBER", RegistryKeys.userTokens(Self.user), Self.token),
      RedisCommand("SCARD", RegistryKeys.userTokens(Self.user)),
      RedisCommand("HGET", RegistryKeys.activityTokens(Self.activity), Self.activityToken),
      RedisCommand("GET", "push:activity:\(Self.activity)"), RedisCommand("XLEN", QueueKeys.notifications(Self.user)),
      RedisCommand("XLEN", "push:instance:\(Self.instance):notifications"),
    ]
    var found: [String] = []
    for command in reads {
      let value = try await fixture.redis.send(command)
      found.append(value.bytes.map { String(decoding: $0, as: UTF8.self) } ?? "\(value)")
    }
    return found
  }

  /// The value of a field of a request, by its name: the victim's where it is an id.
  private func value(_ name: String, token: String) -> JSONValue? {
    switch name {
    case "token", "deviceToken", "currentToken", "apns_device_token", "pushkey": .string(token)
    case "newToken": .string(SHA256.hex("identity-new"))
    case "userId": .string(Self.user)
    case "bundleId", "bundledId": .string(Self.app)
    case "deviceId": .string(Self.phone)
    case "environment": .string("production")
    case "body", "title": .string("x")
    case "notifications":
      .array([
        .object([
          JSONMember(key: "tokens", value: .array([.string(token)])), JSONMember(key: "platform", value: .integer(1)),
          JSONMember(key: "topic", value: .string(Self.app)), JSONMember(key: "message", value: .string("x")),
        ])
      ])
    case "notification":
      .object([
        JSONMember(key: "event_id", value: .string("$" + token)),
        JSONMember(
          key: "devices",
          value: .array([
            .object([
              JSONMember(key: "app_id", value: .string("any")), JSONMember(key: "pushkey", value: .string(token)),
            ])
          ])),
      ])
    default: nil
    }
  }

  private func operations(_ description: JSONValue, token: String) throws -> [Operation] {
    var operations: [Operation] = []
    for path in try #require(description["paths"]?.members) {
      var target = path.key.replacing("{id}", with: Self.activity).replacing("{attributesType}", with: "Order")
      target = target.replacing("{deviceToken}", with: token)
      for operation in path.value.members ?? [] where operation.key != "parameters" && operation.key != "options" {
        let schema = operation.value["requestBody"]?["content"]?["application/json"]?["schema"]
        let named = schema?["$ref"]?.string?.split(separator: "/").last.map(String.init)
        let known = named.map { description["components"]?["schemas"]?[$0] } ?? schema
        let members = (known?["properties"]?.members ?? []).compactMap { field in
          value(field.key, token: token).map { JSONMember(key: field.key, value: $0) }
        }
        let query = operation.value["parameters"]?.array?.contains { $0["name"]?.string == "userId" } == true
        operations.append(
          Operation(
            method: operation.key.uppercased(), path: target + (query ? Self.query : ""),
            body: known == nil ? nil : String(decoding: JSONValue.object(members).bytes, as: UTF8.self)))
      }
    }
    return operations
  }

  @Test func `nobody reads or changes what is another's by naming it`() async throws {
    let fixture = try await fixture()
    let alice = try await settle(fixture)
    let description = try #require(try await fixture.request("GET", "/openapi.json").json)
    let before = try await belongings(fixture)
    var asked = 0
    for caller in try await callers(fixture) {
      for token in [caller.ownToken, Self.token] {
        for operation in try operations(description, token: token) {
          // Who registers a token holds the phone, and the newer registration wins: only users of the same app do.
          let isTransfer =
            caller.name == "eve" && token == Self.token && operation.body?.contains(token) == true
            && (operation.path == "/api/push/register" || operation.method == "PUT")
          guard !isTransfer else { continue }
          let answer = try await fixture.request(
            operation.method, operation.path, caller.headers, body: operation.body)
          asked += 1
          #expect(!answer.body.contains(Self.text), "\(caller.name): \(operation)")
          #expect(!answer.body.contains(Self.activityToken), "\(caller.name): \(operation)")
          #expect(token == Self.token || !answer.body.contains(Self.token), "\(caller.name): \(operation)")
          #expect(try await belongings(fixture) == before, "\(caller.name): \(operation): \(answer.status)")
        }
      }
    }
    #expect(asked > 200)
    // They fill up what is named as alice's.
    for number in 0..<150 {
      let body = #"{"token":"\#(SHA256.hex("identity-fill-\(number)"))","deviceId":"\#(Self.phone)"}"#
      let eve = try await fixture.request("PUT", "/activities/\(Self.activity)", eveHeaders, body: body)
      #expect([200, 429].contains(eve.status))
    }
    #expect(try await belongings(fixture) == before)
    let body = #"{"token":"\#(SHA256.hex("identity-late"))","deviceId":"\#(Self.phone)-2"}"#
    #expect(try await fixture.request("PUT", "/activities/\(Self.activity)", alice, body: body).status == 200)
    #expect(try await fixture.push("register", alice, #"{"token":"\#(Self.token)"}"#).status == 200)
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  private var eveHeaders: [String: String] {
    ["Authorization": "Bearer \(SidecarFixture.secret)\(Self.eve)", "X-Username": Self.eve]
  }
}
