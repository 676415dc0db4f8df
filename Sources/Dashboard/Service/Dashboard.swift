public import Crypto
public import EventLoop
public import Events
public import HTTPServer
import JSON
public import Redis
public import Telemetry

/// Why a dashboard does not start.
public enum DashboardError: Error, Sendable {
  case server(HTTPServerError)
  /// Other machines could use it, and nobody needs to sign in. The text says what to do.
  case open(String)
}

/// The web dashboard: pages and actions for operators.
@EventLoop
public final class Dashboard {
  /// How long the start waits for Redis, to find out whether there is an operator.
  private static let patience = Duration.seconds(5)

  /// What connections and requests may take: more than 400 connections, or 250 with TLS. Bytes.
  private static let budget = 8 << 20

  private let context: DashboardContext
  private let access: OperatorAccess
  private let application: HTTPApplication<DashboardSite>

  /// The port it listens on; 0 before ``start()``.
  public var port: Int { application.port }

  public init(
    _ configuration: DashboardConfiguration, connection: RedisClient, events: EventLog? = nil, metrics: Metrics,
    log: Log
  ) {
    context = DashboardContext(configuration, connection: connection, events: events, log: log)
    access = OperatorAccess(context, metrics: metrics)
    var listener = configuration.listener
    listener.announcement = "dashboard listens"
    listener.budget.bytes = Dashboard.budget
    application = HTTPApplication(
      DashboardSite(context, access), on: listener,
      metrics: RequestMetrics(
        requests: metrics.counters(
          "martlet_dashboard_requests_total", labels: ["method", "route", "status"],
          help: "requests for pages of the [dashboard](dashboard.md); `route` is `none` for an unknown path",
          worry: "`5..` grows"),
        durations: metrics.histogram(
          "martlet_dashboard_request_seconds",
          help: "time from a complete request to its page",
          worry: "it is above 1 s")),
      log: log)
  }

  /// The answer of `/readyz`.
  public var readiness: HTTPResponse {
    let isStopping = application.isStopping
    let isReady = context.connection.isReady && !isStopping
    let redis = context.connection.isReady ? "ok" : "unreachable"
    return .json(["ready": isReady, "redis": redis, "stopping": isStopping], status: isReady ? 200 : 503)
  }

  /// Binds the address and listens. Throws ``DashboardError/open(_:)`` if no operator exists and other machines can reach the
  /// address. If Redis does not answer, that is decided with each request.
  public func start() async throws(DashboardError) {
    if !LocalAccess.isLocal(context.configuration.listener.address) { try await requireOperators() }
    do { try application.start() } catch { throw .server(error) }
  }

  /// Uses another certificate for new connections. If this throws, the certificate in use stays.
  public func replaceCertificate(with certificate: ServerCertificate) throws(HTTPServerError) {
    try application.replaceCertificate(with: certificate)
  }

  /// Stops listening and lets running requests finish within `grace`. Of several calls, the grace time that ends first
  /// counts.
  public func stop(grace: Duration) async {
    await application.stop(grace: grace)
    await context.audit.flush()
  }

  private func requireOperators() async throws(DashboardError) {
    // If Redis does not answer, each request is judged by itself.
    try? await context.connection.ready(within: Dashboard.patience)
    guard let hasOperators = try? await access.hasOperators(), !hasOperators else { return }
    throw .open(
      "MARTLET_DASHBOARD_ADDRESS is \(context.configuration.listener.address), which other machines can reach, and no operator "
        + "exists. Add one first: \(PageError.operatorFix)")
  }
}
