import Credentials
import EventLoop
import HTTPServer
import JSON
import Queue
import Redis

/// `GET /notifications`, where users poll for notifications: docs/http/push-api.md. Access is that of the push API.
@EventLoop
struct NotificationAPI: HTTPAPI {
  private let gate: UserGate

  let routes = ["/notifications"]

  init(_ context: APIContext) {
    gate = UserGate(context, methods: ["GET"])
  }

  func respond(to request: SidecarRequest) async throws(Refusal) -> HTTPResponse {
    try await gate.respond(to: request) { (user, storage) async throws(Refusal) -> HTTPResponse in
      let query = try NotificationQuery(request.http.query, cursor: "since")
      let page = try await refusingFaults(
        await storage.backend.notifications.page(of: user.username, after: query.since.id, limit: query.limit))
      return .json(page.json("notifications", since: query.since))
    }
  }

  func response(to refusal: Refusal, of request: HTTPRequest) -> HTTPResponse {
    gate.response(to: refusal, of: request)
  }
}

extension NotificationPage {
  /// `{"<list>":[records, each with its cursor],"cursor","hasMore"}`. Without new records the cursor stays the same.
  func json(_ list: String, since: NotificationCursor) -> JSONObject {
    let records = entries.map { entry in
      let cursor = JSONMember(key: "cursor", value: .string(NotificationCursor(id: entry.id).text))
      return JSONValue.object((entry.record.members ?? []).filter { $0.key != "cursor" } + [cursor])
    }
    let cursor = last.map(NotificationCursor.init(id:)) ?? since
    return [list: records, "cursor": cursor.text, "hasMore": hasMore]
  }
}
