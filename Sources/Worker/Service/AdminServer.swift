package import EventLoop
package import HTTPServer
package import Telemetry

/// A service's port for its operator: /healthz, /readyz, /metrics.
@EventLoop
package final class AdminServer {
  package nonisolated static let setting = "MARTLET_ADMIN_ADDRESS"

  package nonisolated static let readinessPath = "/readyz"
  package nonisolated static let metricsPath = "/metrics"

  private let server: HTTPServer
  private let log: Log

  /// `readiness` makes the response of /readyz.
  package convenience init(
    address: String, metrics: Metrics, log: Log, readiness: @escaping @EventLoop () -> HTTPResponse
  ) throws(HTTPServerError) {
    try self.init(address: address, log: log) { path, respond in
      respond(AdminServer.response(to: path, metrics: metrics, readiness: readiness))
    }
  }

  /// `answer` is called with a path, and calls its second argument once, now or later.
  package init(
    address: String, log: Log,
    answer: @escaping @EventLoop (String, @escaping @EventLoop (HTTPResponse) -> Void) -> Void
  ) throws(HTTPServerError) {
    self.log = log
    server = HTTPServer(configuration: HTTPServerConfiguration(address: try HTTPAddress(parsing: address)), log: log) {
      request, respond in
      guard request.method == "GET" || request.method == "HEAD" else {
        return respond(.text("method not allowed\n", status: 405))
      }
      answer(request.path, respond)
    }
  }

  package static func response(
    to path: String, metrics: Metrics, readiness: @EventLoop () -> HTTPResponse
  ) -> HTTPResponse {
    switch path {
    case readinessPath: readiness()
    case metricsPath: metricsResponse(metrics.prometheusText())
    default: response(to: path)
    }
  }

  /// The response to a path that needs nothing of the service.
  package static func response(to path: String) -> HTTPResponse {
    path == "/healthz"
      ? .text("ok\n") : .text("not found: /healthz, /readyz and /metrics are here\n", status: 404)
  }

  /// `text` is Prometheus' text format.
  package static func metricsResponse(_ text: String) -> HTTPResponse {
    var response = HTTPResponse.text(text)
    response.headers = [("Content-Type", "text/plain; version=0.0.4; charset=utf-8")]
    return response
  }

  /// The error names the setting, as a service has several addresses.
  package func start() throws(AdminServerError) {
    do {
      try server.start()
    } catch {
      throw AdminServerError(
        description: "the admin port: \(error); set \(AdminServer.setting) to another address, or to off")
    }
    log.info("admin port listens", ["port": .init(server.port)])
  }

  package func stop() async {
    await server.stop(grace: .milliseconds(500))
  }
}

/// An admin port that cannot be opened.
package struct AdminServerError: Error, CustomStringConvertible {
  package let description: String
}
