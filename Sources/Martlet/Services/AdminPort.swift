import EventLoop
import HTTPServer
import Program
import Telemetry

/// A service's port for its operator: /healthz, /readyz, /metrics.
@EventLoop
final class AdminPort: Service {
  /// What connections may take: more than 100. Bytes.
  private nonisolated static let budget = 4 << 20

  private let application: HTTPApplication<AdminSite>

  /// `readiness` makes the response of /readyz. Nil if the port is off.
  init?(_ settings: ServiceSettings, metrics: Metrics, log: Log, readiness: @escaping @EventLoop () -> HTTPResponse) {
    guard let address = settings.adminAddress else { return nil }
    metrics.addProcess(version: Version.current)
    var listener = HTTPServerConfiguration(address: address)
    listener.announcement = "admin port listens"
    listener.budget.bytes = AdminPort.budget
    listener.maximumBodyBytes = 0
    application = HTTPApplication(
      AdminSite(metrics: metrics, readiness: readiness), on: listener, metrics: nil, log: log)
  }

  /// The error names the setting, as a service has several addresses.
  func start() throws(CommandError) {
    do {
      try application.start()
    } catch {
      throw .failed("the admin port: \(error); set \(Setting.adminAddress.name) to another address, or to off")
    }
  }

  func close() async {
    await application.stop(grace: .milliseconds(500))
  }
}

@EventLoop
private struct AdminSite: HTTPSite {
  typealias Endpoint = @EventLoop () -> HTTPResponse

  let router: HTTPRouter<Endpoint>

  init(metrics: Metrics, readiness: @escaping Endpoint) {
    router = HTTPRouter([
      ("/healthz", { .text("ok\n") }), ("/readyz", readiness), ("/metrics", { AdminSite.page(of: metrics) }),
    ])
  }

  func respond(to request: RoutedRequest<Endpoint>) -> HTTPResponse {
    guard request.method == "GET" || request.method == "HEAD" else {
      return .text("method not allowed\n", status: 405)
    }
    return request.endpoint?() ?? .text("not found: /healthz, /readyz and /metrics are here\n", status: 404)
  }

  /// In Prometheus' text format.
  private static func page(of metrics: Metrics) -> HTTPResponse {
    var response = HTTPResponse.text(metrics.prometheusText())
    response.headers = [("Content-Type", "text/plain; version=0.0.4; charset=utf-8")]
    return response
  }
}
