import EventLoop
import HTTPServer
import JSON
import Redis
import Registry
import Sidecar
import SidecarSupport
import Telemetry
import Testing
import TestSupport
@testable import Credentials
@testable import PushModel

/// docs/http/instance-api.md.
@EventLoop
struct InstanceRegistrationTests {
  private nonisolated static let path = "/push/apns/register"

  private func allow(_ client: APIClient, _ name: String, isEnabled: Bool = true) async throws {
    let credential = Credential(
      kind: .instance, name: client.unique(name), digest: Credential.digest(of: client.unique("\(name)-key")),
      createdAt: 1, isEnabled: isEnabled)
    #expect(try await client.fixture.backend.credentials.add(credential) == nil)
  }

  private func send(
    _ client: APIClient, key: String, instance: String, _ body: String
  ) async throws -> WebAnswer {
    try await client.fixture.request(
      "POST", Self.path,
      ["X-Nyra-Device-Key": client.unique("\(key)-key"), "X-Nyra-Instance-Id": client.unique(instance)], body: body)
  }

  private func record(_ client: APIClient, _ instance: String) async throws -> InstanceRecord? {
    try await client.fixture.run("GET", RegistryKeys.instance(client.unique(instance))).bytes.flatMap(
      InstanceRecord.init(parsing:))
  }

  private func body(_ token: String, _ environment: String = "sandbox") -> String {
    #"{"apns_device_token":"\#(token)","environment":"\#(environment)"}"#
  }

  @Test func `an instance has one token, the one registered last`() async throws {
    let client = try await APIClient()
    try await allow(client, "home")
    let first = try await send(client, key: "home", instance: "home", body(client.token("1")))
    #expect(first.status == 200)
    #expect(first.body == #"{"ok":true}"#)
    #expect(first.headers["content-type"] == "application/json")
    let sandbox = try #require(try await record(client, "home"))
    #expect(sandbox.token.text == client.token("1"))
    #expect(sandbox.environment == .sandbox)
    #expect(sandbox.isActive)
    let second = try await send(client, key: "home", instance: "home", body(client.token("2"), "production"))
    #expect(second.status == 200)
    let replaced = try #require(try await record(client, "home"))
    #expect(replaced.token.text == client.token("2"))
    #expect(replaced.environment == .production)
    await client.stop()
  }

  @Test func `an instance unregisters its device, also twice`() async throws {
    let client = try await APIClient()
    try await allow(client, "gone")
    let fields = ["X-Nyra-Device-Key": client.unique("gone-key"), "X-Nyra-Instance-Id": client.unique("gone")]
    #expect(try await send(client, key: "gone", instance: "gone", body(client.token("gone"))).status == 200)
    for _ in 1...2 {
      let answer = try await client.fixture.request("DELETE", Self.path, fields)
      #expect(answer.status == 200)
      #expect(answer.body == #"{"ok":true}"#)
      #expect(try await record(client, "gone")?.isActive == false)
    }
    #expect(try await client.fixture.request("DELETE", Self.path, [:]).status == 401)
    await client.stop()
  }

  @Test func `a registration takes the token from another instance, and none is of another kind`() async throws {
    let client = try await APIClient()
    for name in ["taker", "giver"] { try await allow(client, name) }
    let token = client.token("taken")
    #expect(try await send(client, key: "giver", instance: "giver", body(token)).status == 200)
    #expect(try await send(client, key: "taker", instance: "taker", body(token)).status == 200)
    #expect(try await record(client, "giver")?.isActive == false)
    #expect(try await record(client, "taker")?.isActive == true)
    let voip = #"{"apns_device_token":"\#(token)","environment":"sandbox","kind":"voip"}"#
    let refused = try await send(client, key: "taker", instance: "taker", voip)
    #expect(refused.status == 400)
    #expect(refused.body == #"{"error":"invalid_kind"}"#)
    await client.stop()
  }

  @Test func `a stale token is active again after its registration`() async throws {
    let client = try await APIClient()
    try await allow(client, "asleep")
    let token = client.token("stale")
    try await client.fixture.backend.registry.register(
      instance: client.unique("asleep"),
      InstanceRecord(token: DeviceToken(token), environment: .sandbox, updatedAt: 1, isActive: false))
    #expect(try await send(client, key: "asleep", instance: "asleep", body(token)).status == 200)
    #expect(try await record(client, "asleep")?.isActive == true)
    await client.stop()
  }

  @Test func `checks are made in order: 401, then 403, then 400`() async throws {
    let client = try await APIClient()
    for name in ["mine", "theirs"] { try await allow(client, name) }
    try await allow(client, "off", isEnabled: false)
    func refused(_ answer: WebAnswer, _ status: Int, _ code: String) {
      #expect(answer.status == status)
      #expect(answer.body == #"{"error":"\#(code)"}"#)
      #expect(answer.headers["content-type"] == "application/json")
    }
    // The body is not examined before the credentials.
    for body in [body(client.token("x")), "{", ""] {
      refused(try await send(client, key: "unknown", instance: "mine", body), 401, "unauthorized")
      refused(
        try await send(client, key: "mine", instance: "theirs", body), 403, "instance_mismatch_or_disabled")
      refused(
        try await send(client, key: "mine", instance: "nowhere", body), 403, "instance_mismatch_or_disabled")
      refused(try await send(client, key: "off", instance: "off", body), 403, "instance_mismatch_or_disabled")
    }
    refused(try await send(client, key: "mine", instance: "mine", "{"), 400, "invalid_token")
    let (key, id) = (("X-Nyra-Device-Key", client.unique("mine-key")), ("X-Nyra-Instance-Id", client.unique("mine")))
    for fields in [[], [key], [id], [key, key, id], [key, id, id], [key, ("X-Nyra-Instance-Id", "")]] {
      let bytes = Array(body(client.token("x")).utf8)
      let answer = try await WebAnswer.ask(
        port: client.fixture.sidecar.port, "POST", Self.path, fields: fields, bytes: bytes)
      refused(answer, 401, "unauthorized")
    }
    for instance in ["mine", "theirs", "off", "nowhere"] { #expect(try await record(client, instance) == nil) }
    await client.stop()
  }

  @Test func `an API key is not a device key`() async throws {
    let client = try await APIClient()
    let answer = try await client.fixture.request(
      "POST", Self.path, ["X-Nyra-Device-Key": client.key, "X-Nyra-Instance-Id": client.keyName],
      body: body(client.token("kind")))
    #expect(answer.status == 401)
    await client.stop()
  }

  @Test func `an invalid body is refused as an invalid token and changes nothing`() async throws {
    let client = try await APIClient()
    try await allow(client, "strict")
    let token = client.token("good")
    #expect(try await send(client, key: "strict", instance: "strict", body(token)).status == 200)
    let before = try await record(client, "strict")
    var bodies = hostileBodies(#""apns_device_token":"\#(client.token("bad"))","environment":"sandbox""#).map(\.bytes)
    for text in [
      body(""), body("short"), body(String(repeating: "a", count: 62)), body(String(repeating: "a", count: 201)),
      body(String(repeating: "g", count: 64)), body("fcm:\(token)"), body("\(token.dropLast())é"),
      body("aaaaaaaaaaaaaaaaaaaaaaaa\\u0000"), body("aaaaaaaaaaaaaaa aaaaaaaaaaa"),
      body(String(repeating: "a", count: 513)), body(token, "Sandbox"), body(token, ""), body(token, "staging"),
      #"{"apns_device_token":7,"environment":"sandbox"}"#, #"{"apns_device_token":"\#(token)"}"#,
      #"{"environment":"sandbox"}"#, #"{"apns_device_token":"\#(token)","environment":null}"#, "{}",
    ] {
      bodies.append(Array(text.utf8))
    }
    for bytes in bodies {
      let answer = try await WebAnswer.ask(
        port: client.fixture.sidecar.port, "POST", Self.path,
        fields: [
          ("X-Nyra-Device-Key", client.unique("strict-key")), ("X-Nyra-Instance-Id", client.unique("strict")),
        ], bytes: bytes)
      #expect(answer.status == 400)
      #expect(answer.body == #"{"error":"invalid_token"}"#, "\(String(decoding: bytes.prefix(100), as: UTF8.self))")
    }
    #expect(try await record(client, "strict") == before)
    await client.stop()
  }

  @Test(arguments: [64, 160, 512])
  func `a token of hexadecimal digits is stored in lower case`(count: Int) async throws {
    let client = try await APIClient()
    try await allow(client, "hex")
    let token = String((client.token("hex").uppercased() + String(repeating: "0aB", count: 160)).prefix(count))
    #expect(try await send(client, key: "hex", instance: "hex", body(token)).status == 200)
    #expect(try await record(client, "hex")?.token.text == token.lowercased())
    await client.stop()
  }

  @Test func `a body that is too large, another method and a malformed target are refused with codes`() async throws {
    let client = try await APIClient()
    let large = try await client.send("POST", Self.path, bytes: padded(#""x":1"#, to: 65_537))
    #expect(large.status == 413)
    #expect(large.body == #"{"error":"payload_too_large"}"#)
    let method = try await client.send("GET", Self.path)
    #expect(method.status == 405)
    #expect(method.headers["allow"] == "POST, DELETE")
    #expect(method.body == #"{"error":"method_not_allowed"}"#)
    let target = try await client.send("POST", "\(Self.path)?%")
    #expect(target.status == 400)
    #expect(target.body == #"{"error":"invalid_request"}"#)
    await client.stop()
  }

  @Test func `without Redis, or while it is full, the answer is a server error`() async throws {
    let bare = Sidecar(
      SidecarConfiguration(listener: HTTPServerConfiguration(address: .loopback(port: 0))), backend: nil, sender: nil,
      metrics: Metrics(), log: .silent)
    try bare.start()
    let missing = try await WebAnswer.ask(port: bare.port, "POST", Self.path, body: "{}")
    #expect(missing.status == 500)
    #expect(missing.body == #"{"error":"server_error"}"#)
    await bare.stop(grace: .seconds(1))
    let server = try await RedisServer()
    let client = try await APIClient(server: server)
    try await allow(client, "home")
    try await server.redisCLI("CONFIG", "SET", "maxmemory", "1")
    let full = try await send(client, key: "home", instance: "home", body(client.token("full")))
    #expect(full.status == 500)
    #expect(full.body == #"{"error":"server_error"}"#)
    #expect(try await record(client, "home") == nil)
    try await server.kill()
    let gone = try await send(client, key: "home", instance: "home", body(client.token("gone")))
    #expect(gone.status == 500)
    #expect(gone.body == #"{"error":"server_error"}"#)
    await client.stop()
    try await server.stop()
  }
}
