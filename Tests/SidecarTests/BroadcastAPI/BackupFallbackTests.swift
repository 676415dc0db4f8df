import PushModel
import EventLoop
import Registry
import Sidecar
import SidecarSupport
import Testing
import TestSupport

/// The import of the backup file, docs/http/broadcast-api.md. Each test has its own Redis, because the file is imported once
/// for all apps.
@EventLoop
struct BackupFallbackTests {
  private struct Unreadable: Error {}

  /// Replaces the import of the file.
  @EventLoop
  private final class FakeImport {
    var paths: [String] = []
    var isFailing = false
    var work: (() async throws -> Void)?

    func run(_ path: String) async throws {
      paths.append(path)
      if isFailing { throw Unreadable() }
      try await work?()
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
  func `the first request for an app without devices imports the file, once`(path: String) async throws {
    let server = try await RedisServer()
    let fake = FakeImport()
    let client = try await client(server, fake)
    let body = #"{"token":"\#(client.token("first"))","bundleId":"com.example.empty","body":"x"}"#
    #expect(try await client.send("POST", path, body).status == 200)
    #expect(fake.paths == ["/var/lib/martlet/backup.json"])
    #expect(try await register(client, "second", app: "com.example.other").status == 200)
    #expect(fake.paths.count == 1)
    // Another process, or this one after a restart, reads it from Redis.
    let later = FakeImport()
    let second = try await self.client(server, later)
    #expect(try await register(second, "third", app: "com.example.third").status == 200)
    #expect(later.paths.isEmpty)
    for client in [client, second] { await client.stop() }
    try await server.stop()
  }

  @Test func `for an app that has devices the file is not imported`() async throws {
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

  @Test func `during the import requests wait in the same process and get 503 in another`() async throws {
    let server = try await RedisServer()
    let (fake, other) = (FakeImport(), FakeImport())
    let (first, second) = (try await client(server, fake), try await client(server, other))
    let app = "com.example.meanwhile"
    fake.work = {
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

  @Test func `requests are refused while the import fails`() async throws {
    let server = try await RedisServer()
    let fake = FakeImport()
    fake.isFailing = true
    let client = try await client(server, fake)
    try await register(client, "early", app: "com.example.broken").isError(500, "Internal server error")
    #expect(try await client.metadata(client.token("early")) == nil)
    // A part of the file was imported, which does not end the fallback.
    try await client.register(client.token("part"), "", app: "com.example.broken")
    try await register(client, "early", app: "com.example.broken").isError(500, "Internal server error")
    fake.isFailing = false
    // The file is not read again for every request.
    try await eventually("the file is read again") {
      try await register(client, "early", app: "com.example.broken").status == 200
    }
    await client.stop()
    try await server.stop()
  }

  @Test func `without a configured file nothing is imported`() async throws {
    let server = try await RedisServer()
    let fake = FakeImport()
    let client = try await APIClient(backupImport: { try await fake.run($0) }, server: server)
    #expect(try await register(client, "plain", app: "com.example.plain").status == 200)
    #expect(fake.paths.isEmpty)
    await client.stop()
    try await server.stop()
  }
}
