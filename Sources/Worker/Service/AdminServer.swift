import EventLoop
import HTTPServer
import Telemetry

/// The worker's own port: /healthz, /readyz, /metrics.
@EventLoop
final class AdminServer {
  private let server: HTTPServer
  private let log: Log

  init(
    address: String, log: Log, readiness: @escaping @EventLoop () -> Readiness,
    metrics: @escaping @EventLoop () -> String
  ) throws(HTTPServerError) {
    self.log = log
    server = HTTPServer(configuration: HTTPServerConfiguration(address: try HTTPAddress(parsing: address)), log: log) {
      request, respond in
      guard request.method == "GET" || request.method == "HEAD" else {
        return respond(.text("method not allowed\n", status: 405))
      }
      switch request.path {
      case "/healthz": respond(.text("ok\n"))
      case "/readyz":
        let readiness = readiness()
        respond(.json(Array(readiness.json.utf8), status: readiness.isReady ? 200 : 503))
      case "/metrics":
        var response = HTTPResponse.text(metrics())
        response.headers = [("Content-Type", "text/plain; version=0.0.4; charset=utf-8")]
        respond(response)
      default: respond(.text("not found: /healthz, /readyz and /metrics are here\n", status: 404))
      }
    }
  }

  func start() throws(HTTPServerError) {
    try server.start()
    log.info("admin port listens", ["port": .init(server.port)])
  }

  func stop() async {
    await server.stop(grace: .milliseconds(500))
  }
}
