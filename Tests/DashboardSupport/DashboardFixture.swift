package import EventLoop
import HTTPServer
import JSON
package import Redis
import RedisSupport
import Registry
package import Telemetry
import Testing
package import TestSupport

@testable package import Credentials
@testable package import Dashboard

/// A dashboard on a real socket with a redis-server of its own, in the process of the tests. It connects as its user of
/// deploy/redis.
@EventLoop
package final class DashboardFixture {
  package let server: RedisServer
  /// Of the tests, which may run any command.
  package let redis: RedisClient
  private let connection: RedisClient
  private let users: RedisUsers
  package let dashboard: Dashboard
  package let metrics = Metrics()

  package init(
    queues: [String] = ["push:jobs:high", "push:jobs"], _ adapt: (inout DashboardConfiguration) -> Void = { _ in },
    log: Log = .silent
  ) async throws {
    users = try await RedisUsers()
    server = try await RedisServer(users.arguments)
    redis = try await RedisClient.connected(to: server.url)
    connection = try await RedisClient.connected(to: users.url(of: "martlet-dashboard", on: server))
    let listener = HTTPServerConfiguration(address: .loopback(port: 0))
    var configuration = DashboardConfiguration(listener: listener, queues: queues)
    adapt(&configuration)
    dashboard = Dashboard(configuration, connection: connection, metrics: metrics, log: log)
    try await dashboard.start()
  }

  /// Adds an operator. From then on requests need credentials.
  package func add(_ role: OperatorRole, _ name: String, secret: String) async throws {
    let credential = Credential(
      kind: .operator, name: name, digest: Credential.digest(of: secret), createdAt: 1, role: role)
    _ = try await Credentials(connection: redis).add(credential)
  }

  /// Sends a request as curl does. `as`: the name and the secret of an operator, joined by a colon.
  package func get(_ path: String, as user: String? = nil, _ fields: [(String, String)] = []) async throws -> WebAnswer
  {
    try await WebAnswer.ask(port: dashboard.port, "GET", path, fields, user: user)
  }

  /// Sends a form as curl does.
  package func post(
    _ path: String, _ form: [(String, String)], as user: String? = nil, _ fields: [(String, String)] = []
  ) async throws -> WebAnswer {
    let body = form.map { "\(String(percentEncoding: $0.0))=\(String(percentEncoding: $0.1))" }.joined(separator: "&")
    return try await WebAnswer.ask(port: dashboard.port, "POST", path, fields, user: user, body: body)
  }

  /// Sends a form and returns the page that the answer leads to.
  package func act(_ path: String, _ form: [(String, String)], as user: String? = nil) async throws -> WebAnswer {
    let answer = try await post(path, form, as: user)
    guard answer.status == 303, let location = answer.headers["location"] else { return answer }
    return try await get(DashboardFixture.resolve(location, from: path), as: user)
  }

  package func run(_ name: StaticString, _ words: String...) async throws -> RedisValue {
    try await redis.send(RedisCommand(name, words))
  }

  /// Stops the dashboard. Redis must not have refused it anything.
  package func stop() async {
    let refused = (try? await run("ACL", "LOG"))?.array ?? []
    #expect(refused.isEmpty, "\(refused)")
    await dashboard.stop(grace: .seconds(1))
    redis.close()
    connection.close()
  }

  /// Returns the path of a relative reference in an answer for `path`, as a browser does.
  package static func resolve(_ reference: String, from path: String) -> String {
    var parts = path.prefix { $0 != "?" }.split(separator: "/", omittingEmptySubsequences: false).dropLast()
    var rest = reference[...]
    while true {
      if rest.hasPrefix("./") {
        rest = rest.dropFirst(2)
      } else if rest.hasPrefix("../") {
        rest = rest.dropFirst(3)
        if parts.count > 1 { parts.removeLast() }
      } else {
        return parts.joined(separator: "/") + "/" + rest
      }
    }
  }
}
