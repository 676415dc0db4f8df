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
/// alice's, the key's of another app, or another instance's; by callers, too, whose names look like those of the victims.
@EventLoop
struct IdentityTests {
  private static let (app, otherApp) = ("com.identity.a", "com.identity.b")
  private static let text = "what only alice may read"

  /// The victims, and who is taken for them if names are not compared by their bytes.
  struct Names: Sendable, CustomTestStringConvertible {
    let user: String
    let stranger: String
    /// Instances and keys are as they are named, in ASCII.
    var instance = "identity-home"
    var otherInstance = "identity-other"
    var key = "identity-own-key"
    var otherKey = "identity-key"

    var testDescription: String { "\(user), \(stranger)" }
    var activity: String { "identity-order-" + SHA256.hex(user).prefix(8) }
    var phone: String { "identity-phone-" + hex("phone").prefix(8) }
    var token: String { hex("token") }
    var activityToken: String { hex("activity") }

    /// 64 digits of this pair.
    func hex(_ seed: String) -> String { SHA256.hex("identity \(user) \(stranger) \(seed)") }
  }

  nonisolated private static let pairs = [
    Names(user: "identity-alice", stranger: "identity-eve"),
    Names(
      user: "identity-jos\u{e9}", stranger: "identity-jose", instance: "identity-home-2",
      otherInstance: "Identity-Home-2", key: "identity-key-2", otherKey: "identity-KEY-2"),
    Names(
      user: "identity:bob", stranger: "team:identity:bob", instance: "identity:3", otherInstance: "team:identity:3",
      key: "identity:key", otherKey: "team:identity:key"),
    Names(user: "team:identity-\u{43e}lga", stranger: "team:identity-olga", instance: "i-4", otherInstance: "i-4:user"),
  ]

  /// Who asks, and whether they hold the tokens that they name: an app that registers a token has it from its phone.
  private struct Caller {
    let name: String
    let headers: [String: String]
    let ownToken: String
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

  /// Adds a credential in place of one of the same name. Its secret is hexadecimal.
  private func allow(_ kind: Credential.Kind, _ name: String, apps: Set<String> = [], _ fixture: SidecarFixture)
    async throws -> String
  {
    let secret = SHA256.hex("identity-secret \(kind.rawValue) \(name)")
    let digest = Credential.digest(of: secret)
    _ = try await fixture.backend.credentials.revoke(kind, name)
    _ = try await fixture.backend.credentials.add(
      Credential(kind: kind, name: name, digest: digest, createdAt: 1, apps: AppBinding(apps)))
    return secret
  }

  private func user(_ name: String, _ fixture: SidecarFixture) async throws -> [String: String] {
    ["Authorization": "Bearer \(try await allow(.user, name, fixture))", "X-Username": name]
  }

  /// The victims: alice with a device and a token of her activity, an instance with its device, a key.
  private func settle(_ names: Names, _ fixture: SidecarFixture) async throws -> [String: String] {
    let alice = try await user(names.user, fixture)
    let device = #""bundleId":"\#(Self.app)","deviceId":"\#(names.phone)""#
    #expect(try await fixture.push("register", alice, #"{"token":"\#(names.token)",\#(device)}"#).status == 200)
    let body = #"{"token":"\#(names.activityToken)",\#(device)}"#
    #expect(try await fixture.request("PUT", "/activities/\(names.activity)", alice, body: body).status == 200)
    let record = #"{"id":"j","status":"accepted","at":1,"title":"\#(Self.text)"}"#
    for stream in [QueueKeys.notifications(Username(names.user)), "push:instance:\(names.instance):notifications"] {
      _ = try await fixture.run("DEL", stream)
      _ = try await fixture.run("XADD", stream, "*", "notification", record)
    }
    let secret = try await allow(.instance, names.instance, fixture)
    let home = ["X-Nyra-Device-Key": secret, "X-Nyra-Instance-Id": names.instance]
    let own = #"{"apns_device_token":"\#(names.hex("instance"))","environment":"production"}"#
    #expect(try await fixture.request("POST", "/push/apns/register", home, body: own).status / 100 == 2)
    let state = #"{"members":["\#(names.user)"],"starts":{"phone:x\n\#(names.user)":"n"}}"#
    _ = try await fixture.run("SET", "push:activity:\(names.activity)", state)
    let key = ["X-API-Key": try await allow(.key, names.key, apps: [Self.app], fixture)]
    #expect(try await fixture.request("GET", "/devices?userId=identity-nobody", key).status == 200)
    return alice
  }

  private func callers(_ names: Names, _ fixture: SidecarFixture) async throws -> [Caller] {
    let eve = try await user(names.stranger, fixture)
    let key = try await allow(.key, names.otherKey, apps: [Self.otherApp], fixture)
    let secret = try await allow(.instance, names.otherInstance, fixture)
    let other = ["X-Nyra-Device-Key": secret, "X-Nyra-Instance-Id": names.otherInstance]
    let all = [
      ("eve", eve), ("eve who says that she is alice", eve.merging(["X-Username": names.user]) { $1 }),
      ("a key of another app", ["X-API-Key": key]), ("another instance", other),
      (
        "another instance that says it is this one",
        other.merging(["X-Nyra-Instance-Id": names.instance]) { $1 }
      ),
      ("nobody", [:]),
    ]
    return all.map { Caller(name: $0, headers: $1, ownToken: names.hex("of " + $0)) }
  }

  /// All that belongs to the victims, as bytes: texts in two forms of Unicode are equal.
  private func belongings(_ names: Names, _ fixture: SidecarFixture) async throws -> [[UInt8]] {
    let reads = [
      RedisCommand("GET", RegistryKeys.token(entry: names.token)),
      RedisCommand("GET", RegistryKeys.token(entry: names.activityToken)),
      RedisCommand("GET", RegistryKeys.instance(names.instance)),
      RedisCommand("SISMEMBER", RegistryKeys.userTokens(Username(names.user)), names.token),
      RedisCommand("SCARD", RegistryKeys.userTokens(Username(names.user))),
      RedisCommand("HGET", RegistryKeys.activityTokens(names.activity), names.activityToken),
      RedisCommand("GET", "push:activity:\(names.activity)"),
      RedisCommand("XLEN", QueueKeys.notifications(Username(names.user))),
      RedisCommand("XLEN", "push:instance:\(names.instance):notifications"),
      RedisCommand("HGET", "martlet:{allowance}:\(names.key)", "count"),
    ]
    var found: [[UInt8]] = []
    for command in reads {
      let value = try await fixture.redis.send(command)
      found.append(value.bytes.map { Array($0) } ?? Array("\(value)".utf8))
    }
    return found
  }

  /// The value of a field of a request, by its name: the victim's where it is an id.
  private func value(_ name: String, _ names: Names, token: String) -> JSONValue? {
    switch name {
    case "token", "deviceToken", "currentToken", "apns_device_token", "pushkey": .string(token)
    case "newToken": .string(names.hex("new"))
    case "userId": .string(names.user)
    case "bundleId", "bundledId": .string(Self.app)
    case "deviceId": .string(names.phone)
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

  private func operations(_ description: JSONValue, _ names: Names, token: String) throws -> [Operation] {
    var operations: [Operation] = []
    for path in try #require(description["paths"]?.members) {
      var target = path.key.replacing("{id}", with: names.activity).replacing("{attributesType}", with: "Order")
      target = target.replacing("{deviceToken}", with: token)
      for operation in path.value.members ?? [] where operation.key != "parameters" && operation.key != "options" {
        let schema = operation.value["requestBody"]?["content"]?["application/json"]?["schema"]
        let named = schema?["$ref"]?.string?.split(separator: "/").last.map(String.init)
        let known = named.map { description["components"]?["schemas"]?[$0] } ?? schema
        let members = (known?["properties"]?.members ?? []).compactMap { field in
          value(field.key, names, token: token).map { JSONMember(key: field.key, value: $0) }
        }
        let query = operation.value["parameters"]?.array?.contains { $0["name"]?.string == "userId" } == true
        operations.append(
          Operation(
            method: operation.key.uppercased(),
            path: target + FormEncoding.query(query ? [("userId", names.user)] : []),
            body: known == nil ? nil : String(decoding: JSONValue.object(members).bytes, as: UTF8.self)))
      }
    }
    return operations
  }

  @Test(arguments: pairs) func `nobody reads or changes what is another's by naming it`(names: Names) async throws {
    let fixture = try await fixture()
    let alice = try await settle(names, fixture)
    let description = try #require(try await fixture.request("GET", "/openapi.json").json)
    let before = try await belongings(names, fixture)
    var asked = 0
    for caller in try await callers(names, fixture) {
      for token in [caller.ownToken, names.token] {
        for operation in try operations(description, names, token: token) {
          // Who registers a token holds the phone, and the newer registration wins: only users of the same app do.
          let isTransfer =
            caller.name == "eve" && token == names.token && operation.body?.contains(token) == true
            && (operation.path == "/api/push/register" || operation.method == "PUT")
          guard !isTransfer else { continue }
          let answer = try await fixture.request(
            operation.method, operation.path, caller.headers, body: operation.body)
          asked += 1
          #expect(!answer.body.contains(Self.text), "\(caller.name): \(operation)")
          #expect(!answer.body.contains(names.activityToken), "\(caller.name): \(operation)")
          #expect(token == names.token || !answer.body.contains(names.token), "\(caller.name): \(operation)")
          #expect(try await belongings(names, fixture) == before, "\(caller.name): \(operation): \(answer.status)")
        }
      }
    }
    #expect(asked > 200)
    try await fill(names, fixture)
    #expect(try await belongings(names, fixture) == before)
    let body = #"{"token":"\#(names.hex("late"))","deviceId":"\#(names.phone)-2"}"#
    #expect(try await fixture.request("PUT", "/activities/\(names.activity)", alice, body: body).status == 200)
    #expect(try await fixture.push("register", alice, #"{"token":"\#(names.token)"}"#).status == 200)
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  /// The stranger fills up what is named as alice's.
  private func fill(_ names: Names, _ fixture: SidecarFixture) async throws {
    let eve = try await user(names.stranger, fixture)
    for number in 0..<150 {
      let body = #"{"token":"\#(names.hex("fill \(number)"))","deviceId":"\#(names.phone)"}"#
      let answer = try await fixture.request("PUT", "/activities/\(names.activity)", eve, body: body)
      #expect([200, 429].contains(answer.status))
    }
  }

  /// A user's name has one form, in which Redis holds it. Each row is one name: as Redis holds it, and as others write it.
  nonisolated private static let forms = [
    ["identity-ren\u{e9}", "identity-rene\u{301}", "Identity-REN\u{c9} ", "IDENTITY-RENE\u{301}"],
    ["identity-\u{d55c}", "identity-\u{1112}\u{1161}\u{11ab}"], ["identity-\u{304c}", "identity-\u{304b}\u{3099}"],
    ["identity-k\u{e5};", "identity-\u{212a}a\u{30a};", "identity-k\u{212b}\u{37e}"],
  ]

  @Test(arguments: forms) func `a user whose name is written in another form is the same user`(forms: [String])
    async throws
  {
    let fixture = try await fixture()
    let key = ["X-API-Key": try await allow(.key, "identity-forms", apps: [Self.app], fixture)]
    let bearer = try await user(forms[0], fixture)
    _ = try await fixture.run("DEL", QueueKeys.notifications(Username(forms[0])))
    _ = try await fixture.run(
      "XADD", QueueKeys.notifications(Username(forms[0])), "*", "notification",
      #"{"id":"j","status":"accepted","at":1}"#)
    let polled = try await fixture.request("GET", "/notifications", bearer)
    var tokens: Set<String> = []
    for (place, form) in forms.enumerated() {
      let headers = bearer.merging(["X-Username": form]) { $1 }
      let (own, byKey) = (SHA256.hex("\(forms[0]) own \(place)"), SHA256.hex("\(forms[0]) key \(place)"))
      #expect(
        try await fixture.push("register", headers, #"{"token":"\#(own)","bundleId":"\#(Self.app)"}"#).status == 200)
      let device = #"{"deviceToken":"\#(byKey)","userId":"\#(form)","bundleId":"\#(Self.app)","platform":"ios"}"#
      #expect(try await fixture.request("POST", "/devices", key, body: device).status / 100 == 2)
      tokens.formUnion([own, byKey])
      #expect(try await fixture.request("GET", "/notifications", headers).body.utf8.elementsEqual(polled.body.utf8))
    }
    try await expect(tokens, of: forms, key, fixture)
    let last = bearer.merging(["X-Username": forms[forms.count - 1]]) { $1 }
    for token in tokens { #expect(try await fixture.push("unregister", last, #"{"token":"\#(token)"}"#).status == 200) }
    #expect(try await fixture.run("EXISTS", RegistryKeys.userTokens(Username(forms[0]))).integer == 0)
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  /// Redis holds the tokens under the one form, and every form lists them.
  private func expect(
    _ tokens: Set<String>, of forms: [String], _ key: [String: String], _ fixture: SidecarFixture
  ) async throws {
    let members = try await fixture.run("SMEMBERS", "push:user:\(forms[0]):tokens").array?.compactMap(\.string)
    #expect(Set(members ?? []) == tokens)
    for token in tokens {
      let metadata = try await fixture.run("GET", RegistryKeys.token(entry: token)).bytes.map { Array($0) } ?? []
      let name = try JSONValue(parsing: metadata)["username"]?.string ?? ""
      #expect(Array(name.utf8) == Array(forms[0].utf8))
    }
    for form in forms {
      let listed = try await fixture.request("GET", "/devices" + FormEncoding.query([("userId", form)]), key)
      for token in tokens { #expect(listed.body.contains(token), "\(form): \(listed.body)") }
    }
  }
}
