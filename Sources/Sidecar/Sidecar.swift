public import EventLoop
public import HTTPServer
public import Telemetry

/// The HTTP registration service: one surface for each document, on one server.
@EventLoop
public final class Sidecar {
  private let configuration: SidecarConfiguration
  private let log: Log
  private let requests: LabelledCounterFamily
  private let durations: Histogram
  private var router = Router([])
  private var operations: OperationsAPI?
  private var server: HTTPServer?
  private var isStopping = false

  /// The port it listens on; 0 before ``start()``.
  public var port: Int { server?.port ?? 0 }

  /// The answer of `/readyz`.
  public var readiness: HTTPResponse { operations?.readiness ?? .error("stopping", status: 503) }

  /// Without `backend` redis is not configured, without `sender` APNs is not. `backupImport` reads the backup file that
  /// the configuration names.
  public init(
    _ configuration: SidecarConfiguration, backend: Backend?, sender: (any DirectSender)?,
    backupImport: BackupImport? = nil, metrics: Metrics, log: Log
  ) {
    self.configuration = configuration
    self.log = log
    requests = metrics.counters(
      "martlet_http_requests_total", labels: ["method", "route", "status"], help: "Answered requests.")
    durations = metrics.histogram("martlet_http_request_seconds", help: "Time from a complete request to its answer.")
    let operations = OperationsAPI(
      backend: backend, sender: sender,
      isStopping: { [weak self] in self?.isStopping ?? true })
    let access = backend.map { Access(configuration, $0, metrics: metrics, log: log) }
    let failures = FailedRequestLog(log)
    let push = PushAPI(
      configuration, backend: backend, access: access, sender: sender, failures: failures, log: log)
    let notifications = NotificationAPI(configuration, backend: backend, access: access, failures: failures)
    let devices = DeviceAPI(configuration, backend: backend, access: access, failures: failures)
    let pushServer = BroadcastAPI(
      configuration, backend: backend, access: access, backupImport: backupImport, failures: failures, log: log)
    let nyra = InstanceAPI(backend: backend, access: access, failures: failures)
    self.operations = operations
    router = Router([operations, push, notifications, devices, pushServer, nyra])
  }

  public func start() throws(HTTPServerError) {
    var settings = HTTPServerConfiguration(address: try HTTPAddress(parsing: configuration.address))
    settings.refusal = { [weak self] status, request in
      EventLoop.assumeIsolated { self?.refuse(status, request) ?? .error("Bad request", status: status) }
    }
    let server = HTTPServer(configuration: settings, log: log) { [weak self] request, respond in
      guard let self else { return respond(.error("stopping", status: 503)) }
      self.handle(request, respond)
    }
    try server.start()
    self.server = server
    log.info("sidecar listens", ["address": .init(configuration.address), "port": .init(server.port)])
  }

  /// Finishes the requests under way within `grace`.
  public func stop(grace: Duration) async {
    isStopping = true
    await server?.stop(grace: grace)
  }

  private func handle(_ request: HTTPRequest, _ respond: @escaping @EventLoop (HTTPResponse) -> Void) {
    let start = Clock.monotonicNanoseconds
    guard let match = router.match(request.path) else {
      count(request, route: "none", status: 404, since: start)
      return respond(router.owner(of: request.path)?.notFound ?? .error("Not found", status: 404))
    }
    Task { @EventLoop in
      let response = await match.surface.respond(
        to: SidecarRequest(http: request, route: match.route, parameter: match.parameter))
      count(request, route: match.route, status: response.status, since: start)
      respond(response)
    }
  }

  private func refuse(_ status: Int, _ request: HTTPRequest) -> HTTPResponse {
    // A target that cannot be read comes whole, with its query.
    let path = String(Substring(request.path.utf8.prefix { $0 != UInt8(ascii: "?") }))
    count(request, route: router.match(path)?.route ?? "none", status: status, since: Clock.monotonicNanoseconds)
    return router.owner(of: path)?.refusal(status, of: request) ?? .refusal(status)
  }

  private func count(_ request: HTTPRequest, route: String, status: Int, since start: UInt64) {
    let method = Sidecar.methods.contains(request.method) ? request.method : "OTHER"
    requests[method, route, String(status)].increment()
    durations.record(nanoseconds: Clock.monotonicNanoseconds - start)
  }

  private static let methods: Set<String> = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"]
}
