package import EventLoop
package import HTTPServer
import Redis
package import Telemetry

/// The HTTP registration service: one API for each document in docs/http, all on one server.
package typealias Sidecar = HTTPApplication<SidecarSite>

extension Sidecar {
  /// - Parameters:
  ///   - backend: nil if Redis is not configured.
  ///   - sender: nil if APNs is not configured.
  package convenience init(
    _ configuration: SidecarConfiguration, backend: Backend?, sender: (any DirectSender)?, metrics: Metrics, log: Log
  ) {
    let context = APIContext(
      configuration: configuration,
      storage: backend.map {
        APIContext.Storage(backend: $0, access: Access(configuration, $0, metrics: metrics, log: log))
      }, sender: sender, log: log)
    var listener = configuration.listener
    listener.announcement = "sidecar listens"
    self.init(
      SidecarSite(context), on: listener,
      metrics: RequestMetrics(
        requests: metrics.counters(
          "martlet_http_requests_total", labels: ["method", "route", "status"],
          help: "requests to the [HTTP APIs](http/README.md); `route` is `none` for an unknown path",
          worry: "`5..` grows"),
        durations: metrics.histogram(
          "martlet_http_request_seconds",
          help: "time from a complete request to its answer",
          worry: "it is above 1 s")), log: log)
  }

  /// What SIGHUP calls: each reads the files of an API again.
  package var reloads: [@EventLoop () -> Void] { site.apis.compactMap(\.reload) }

  /// The answer of `/readyz`.
  package var readiness: HTTPResponse { site.operations.readiness(isStopping: isStopping) }
}

/// The APIs of a sidecar.
@EventLoop
package struct SidecarSite: HTTPSite {
  /// No route is longer. Bytes.
  private static let maximumPathBytes = 2048

  package let router: HTTPRouter<any HTTPAPI>
  /// How long after its start a sidecar's requests wait for the connection to Redis.
  private static let patience = Duration.seconds(5)

  let operations: OperationsAPI
  fileprivate let apis: [any HTTPAPI]
  private let connection: RedisClient?
  private let startedAt = ContinuousClock.now

  init(_ context: APIContext) {
    operations = OperationsAPI(context: context)
    connection = context.storage?.backend.connection
    let own: [any HTTPAPI] = [
      operations, PushAPI(context), NotificationAPI(context), DeviceAPI(context: context), BroadcastAPI(context),
      InstanceAPI(context: context),
    ]
    apis = own + context.configuration.apis.map { $0(context) }
    router = HTTPRouter(
      apis.flatMap { api in api.routes.map { ($0, api) } }, maximumPathBytes: SidecarSite.maximumPathBytes)
  }

  package func needsBody(_ request: SidecarRequest) -> Bool { request.endpoint?.needsBody(request) ?? false }

  package func maximumBodyBytes(of request: SidecarRequest) -> Int? { request.endpoint?.maximumBodyBytes }

  package func respond(to request: SidecarRequest) async throws(Refusal) -> HTTPResponse {
    guard let api = request.endpoint else { throw Refusal(.notFound) }
    if let connection, !connection.isReady, !(api is OperationsAPI) { await wait(for: connection) }
    return try await api.respond(to: request)
  }

  /// Returns when Redis is connected, or when a sidecar that has just started has waited long enough. Without Redis the
  /// request then gets its error.
  private func wait(for connection: RedisClient) async {
    let left = SidecarSite.patience - (ContinuousClock.now - startedAt)
    guard left > .zero else { return }
    do throws(RedisError) {
      try await connection.ready(within: left)
    } catch {
      // The request says so itself.
    }
  }

  /// Renders the refusal in the form of the API that the path belongs to, or in the common form.
  package func response(to refusal: Refusal, of request: SidecarRequest) -> HTTPResponse {
    let path = request.http.path.utf8
    let api = request.endpoint ?? apis.first { $0.roots.contains { path.starts(with: $0.utf8) } }
    return api?.response(to: refusal, of: request.http) ?? refusal.response
  }

  package func response(toUnread status: Int, of request: SidecarRequest) -> HTTPResponse {
    let maximum = request.endpoint?.maximumBodyBytes ?? HTTPServerConfiguration.usualBodyBytes
    return response(to: Refusal(unread: status, maximumBodyBytes: maximum), of: request)
  }
}
