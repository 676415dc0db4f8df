import EventLoop
import HTTPServer
import JSON
import Jobs
import Redis
import Telemetry

/// `GET /notifications`: what a user missed, for clients that poll. Who may call is decided as for the push API.
@EventLoop
struct NotificationsSurface: Surface {
  private let gate: UserGate

  let routes = ["/notifications"]

  init(_ configuration: SidecarConfiguration, backend: Backend?, log: Log) {
    gate = UserGate(configuration, method: "GET", backend: backend, log: log)
  }

  func respond(to request: SidecarRequest) async -> HTTPResponse {
    await gate.respond(to: request) { (username, backend) async throws(RedisError) -> HTTPResponse in
      try await page(request.http, of: username, NotificationLog(connection: backend.connection))
    }
  }

  func refusal(_ status: Int, of request: HTTPRequest) -> HTTPResponse {
    gate.refusal(status, of: request)
  }

  private func page(
    _ request: HTTPRequest, of username: String, _ log: NotificationLog
  ) async throws(RedisError) -> HTTPResponse {
    let query: NotificationQuery
    do { query = try NotificationQuery(request.query) } catch { return .error(error.text, status: 400) }
    let page = try await log.page(of: username, after: query.since.id, limit: query.limit)
    return .json(NotificationsSurface.answer(page, since: query.since))
  }

  /// With nothing new the cursor stays the same.
  private static func answer(_ page: NotificationPage, since: NotificationCursor) -> JSONValue {
    let records = page.entries.map { entry in
      let members = (entry.record.members ?? []).filter { $0.key != "cursor" }
      return JSONValue.object(members + [cursor(NotificationCursor(id: entry.id))])
    }
    return .object([
      JSONMember(key: "notifications", value: .array(records)),
      cursor(page.last.map(NotificationCursor.init(id:)) ?? since),
      JSONMember(key: "hasMore", value: .bool(page.hasMore)),
    ])
  }

  private static func cursor(_ cursor: NotificationCursor) -> JSONMember {
    JSONMember(key: "cursor", value: .string(cursor.text))
  }
}
