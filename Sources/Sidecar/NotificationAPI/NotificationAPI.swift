import Queue
import EventLoop
import HTTPServer
import JSON
import Jobs
import Redis

/// `GET /notifications`: what a user missed, for clients that poll. Who may call is decided as for the push API.
@EventLoop
struct NotificationAPI: HTTPAPI {
  private let gate: UserGate

  let routes = ["/notifications"]

  init(_ configuration: SidecarConfiguration, backend: Backend?, access: Access?, failures: FailedRequestLog) {
    gate = UserGate(configuration, method: "GET", backend: backend, access: access, failures: failures)
  }

  func respond(to request: SidecarRequest) async -> HTTPResponse {
    await gate.respond(to: request) { (username, backend) async throws(RedisError) -> HTTPResponse in
      try await page(request.http, of: username, backend.notifications)
    }
  }

  func refusal(_ status: Int, of request: HTTPRequest) -> HTTPResponse {
    gate.refusal(status, of: request)
  }

  private func page(
    _ request: HTTPRequest, of username: String, _ records: NotificationLog
  ) async throws(RedisError) -> HTTPResponse {
    let query: NotificationQuery
    do { query = try NotificationQuery(request.query) } catch { return .error(error.text, status: 400) }
    let page = try await records.page(of: username, after: query.since.id, limit: query.limit)
    return .json(page.json("notifications", since: query.since))
  }
}
