package import EventLoop
package import HTTPServer
package import Telemetry

/// A service's port for its operator: /healthz, /readyz, /metrics.
@EventLoop
package final class AdminServer {
  package nonisolated static let setting = "MARTLET_ADMIN_ADDRESS"

  /// What connections may take: more than 100. Bytes.
  private nonisolated static let budget = 4 << 20

  private let server: HTTPServer
  private let log: Log

  /// `readiness` makes the response of /readyz.
  package init(
    address: String, metrics: Metrics, log: Log, readiness: @escaping @EventLoop () -> HTTPResponse
  ) throws(HTTPServerError) {
    self.log = log
    var configuration = HTTPServerConfiguration(address: try HTTPAddress(parsing: address))
    configuration.maximumBodyBytes = 0
    configuration.budget.bytes = AdminServer.budget
    server = HTTPServer(configuration: configuration, log: log) { request, respond in
      guard request.method == "GET" || request.method == "HEAD" else {
        return respond(.text("method not allowed\n", status: 405))
      }
      switch request.path {
      case "/healthz": respond(.text("ok\n"))
      case "/readyz": respond(readiness())
      case "/metrics": respond(AdminServer.page(of: metrics))
      default: respond(.text("not found: /healthz, /readyz and /metrics are here\n", status: 404))
      }
    }
  }

  /// In Prometheus' text format.
  private static func page(of metrics: Metrics) -> HTTPResponse {
    var response = HTTPResponse.text(metrics.prometheusText())
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
