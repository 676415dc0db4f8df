import EventLoop
import Registry
import Sidecar
import TestSupport
import Testing

/// The fallback of docs/http/broadcast-api.md: devices that only backup.json knows. Each test has a redis of its own, as the
/// file is brought in once for all apps.
@EventLoop
struct BackupFallbackTests {
  private struct Unreadable: Error {}

  /// Stands in for the reader of the file.
  @EventLoop
  private final class FakeImport {
    var paths: [String] = []
    var isBroken = false
    var bringIn: (() async throws -> Void)?

    func run(_ path: String) async throws {
      paths.append(path)
      if isBroken { throw Unreadable() }
      try await bringIn?()
    }
  }

  private func client(_ server: RedisServer, _ fake: FakeImport) async throws -> APIClient {
    try await APIClient(
      { $0.backupPath = "/var/lib/martlet/backup.json" }, backupImport: { try await fake.run($0) }, server: server)
  }

  private func register(_ client: APIClient, _ name: String, app: String) async throws -> WebAnswer {
    try await client.send("POST", "/newtoken", #"{"token":"\#(client.token(name))","bundleId":"\#(app)"}"#)
  }

  @Test(arguments: ["/newtoken", "/newpush"])
  func `the file is brought in on the first request for an app without devices, once`(path: String) async throws {
    let server = try await RedisServer()
    let fake = FakeImport()
    let client = try await client(server, fake)
    let body = #"{"token":"\#(client.token("first"))","bundleId":"com.example.empty","body":"x"}"#
    #expect(try await client.send("POST", path, body).status == 200)
    #expect(fake.paths == ["/var/lib/martlet/backup.json"])
    #expect(try await register(client, "second", app: "com.example.other").status == 200)
    #expect(fake.paths.count == 1)
    // Another process, or this one after a restart, knows it from redis.
    let later = FakeImport()
    let second = try await self.client(server, later)
    #expect(try await register(second, "third", app: "com.example.third").status == 200)
    #expect(later.paths.isEmpty)
    for client in [client, second] { await client.stop() }
    try await server.stop()
  }

  @Test func `an app that has devices needs no file`() async throws {
    let server = try await RedisServer()
    let fake = FakeImport()
    let client = try await client(server, fake)
    try await client.register(client.token("there"), "", app: "com.example.full")
    #expect(try await register(client, "more", app: "com.example.full").status == 200)
    #expect(fake.paths.isEmpty)
    #expect(try await register(client, "else", app: "com.example.empty").status == 200)
    #expect(fake.paths.count == 1)
    await client.stop()
    try await server.stop()
  }

  @Test func `requests that come meanwhile wait in this process, and are told to come again in another`() async throws {
    let server = try await RedisServer()
    let (fake, other) = (FakeImport(), FakeImport())
    let (first, second) = (try await client(server, fake), try await client(server, other))
    let app = "com.example.meanwhile"
    fake.bringIn = {
      let busy = try await register(second, "elsewhere", app: app)
      busy.isError(503, "Service unavailable")
      #expect(busy.headers["retry-after"] == "1")
      try await first.register(first.token("old"), "", app: app)
    }
    async let one = register(first, "one", app: app)
    async let two = register(first, "two", app: app)
    let answers = try await [one, two]
    #expect(answers.map(\.status) == [200, 200], "\(answers.map(\.body))")
    #expect(fake.paths.count == 1)
    #expect(try await register(second, "elsewhere", app: app).status == 200)
    #expect(other.paths.isEmpty)
    for name in ["old", "one", "two"] { #expect(try await first.isAudience(app, first.token(name))) }
    for client in [first, second] { await client.stop() }
    try await server.stop()
  }

  @Test func `a file that cannot be read holds requests up until it can`() async throws {
    let server = try await RedisServer()
    let fake = FakeImport()
    fake.isBroken = true
    let client = try await client(server, fake)
    try await register(client, "early", app: "com.example.broken").isError(500, "Internal server error")
    #expect(try await client.metadata(client.token("early")) == nil)
    // Part of it came in: that ends nothing.
    try await client.register(client.token("part"), "", app: "com.example.broken")
    try await register(client, "early", app: "com.example.broken").isError(500, "Internal server error")
    fake.isBroken = false
    // It is not looked at for every request.
    try await eventually("the file is read again") {
      try await register(client, "early", app: "com.example.broken").status == 200
    }
    await client.stop()
    try await server.stop()
  }

  @Test func `without a file nothing is looked for`() async throws {
    let server = try await RedisServer()
    let fake = FakeImport()
    let client = try await APIClient(backupImport: { try await fake.run($0) }, server: server)
    #expect(try await register(client, "plain", app: "com.example.plain").status == 200)
    #expect(fake.paths.isEmpty)
    await client.stop()
    try await server.stop()
  }
}
