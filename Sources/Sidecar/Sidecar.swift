public import Crypto
public import EventLoop
public import HTTPServer
public import Telemetry

/// The HTTP registration service: one API for each document in docs/http, all on one server.
@EventLoop
public final class Sidecar {
  private let configuration: SidecarConfiguration
  private let log: Log
  private let requests: LabelledCounterFamily
  private let durations: Histogram
  private let failures: FailedRequestLog
  private var router = Router([])
  private var operations: OperationsAPI?
  private var server: HTTPServer?
  private var isStopping = false

  /// The port it listens on; 0 before ``start()``.
  public var port: Int { server?.port ?? 0 }

  /// The answer of `/readyz`.
  public var readiness: HTTPResponse { operations?.readiness ?? Sidecar.stopping }

  /// - Parameters:
  ///   - backend: nil if Redis is not configured.
  ///   - sender: nil if APNs is not configured.
  public init(
    _ configuration: SidecarConfiguration, backend: Backend?, sender: (any DirectSender)?, metrics: Metrics, log: Log
  ) {
    self.configuration = configuration
    self.log = log
    requests = metrics.counters(
      "martlet_http_requests_total", labels: ["method", "route", "status"], help: "Answered requests.")
    durations = metrics.histogram("martlet_http_request_seconds", help: "Time from a complete request to its answer.")
    failures = FailedRequestLog(log)
    let context = APIContext(
      configuration: configuration,
      storage: backend.map {
        APIContext.Storage(backend: $0, access: Access(configuration, $0, metrics: metrics, log: log))
      }, sender: sender, log: log)
    let operations = OperationsAPI(context: context) { [weak self] in self?.isStopping ?? true }
    self.operations = operations
    router = Router([
      operations, PushAPI(context), NotificationAPI(context), DeviceAPI(context: context), BroadcastAPI(context),
      InstanceAPI(context: context),
    ])
  }

  /// Binds the address and listens.
  public func start() throws(HTTPServerError) {
    var settings = HTTPServerConfiguration(address: try HTTPAddress(parsing: configuration.address))
    settings.certificate = configuration.certificate
    settings.refusal = { [weak self] status, request in
      EventLoop.assumeIsolated { self?.refuse(status, request) ?? Sidecar.stopping }
    }
    settings.trustedProxies = configuration.trustedProxies
    settings.needsBody = { [weak self] request in self?.needsBody(request) ?? false }
    let server = HTTPServer(configuration: settings, log: log) { [weak self] request, respond in
      guard let self else { return respond(Sidecar.stopping) }
      self.handle(request, respond)
    }
    try server.start()
    self.server = server
    log.info(
      "sidecar listens",
      [
        "address": .init(configuration.address), "port": .init(server.port),
        "tls": .init(booleanLiteral: configuration.certificate != nil),
      ])
  }

  /// Uses another certificate for new connections. If this throws, the certificate in use stays.
  public func replaceCertificate(with certificate: ServerCertificate) throws(HTTPServerError) {
    try server?.replaceCertificate(with: certificate)
  }

  /// Stops listening and lets running requests finish within `grace`.
  public func stop(grace: Duration) async {
    isStopping = true
    await server?.stop(grace: grace)
  }

  private func handle(_ request: HTTPRequest, _ respond: @escaping @EventLoop (HTTPResponse) -> Void) {
    let start = Clock.monotonicNanoseconds
    guard let match = router.match(request.path) else {
      count(request, route: "none", status: 404, since: start)
      return respond(response(to: Refusal(.notFound), of: request, router.owner(of: request.path)))
    }
    Task { @EventLoop in
      let response = await response(to: request, by: match)
      count(request, route: match.route, status: response.status, since: start)
      respond(response)
    }
  }

  private func needsBody(_ request: HTTPRequest) -> Bool {
    router.match(request.path).map { $0.api.needsBody($0.request(request)) } ?? false
  }

  private func response(to request: HTTPRequest, by match: Router.Match) async -> HTTPResponse {
    do throws(Refusal) {
      return try await match.api.respond(to: match.request(request))
    } catch {
      failures.record(error, of: match.request(request))
      return match.api.response(to: error, of: request)
    }
  }

  /// Returns the answer to a request that the server did not read completely.
  private func refuse(_ status: Int, _ request: HTTPRequest) -> HTTPResponse {
    // If the target cannot be read, the path is the whole target with its query.
    let path = String(Substring(request.path.utf8.prefix { $0 != UInt8(ascii: "?") }))
    count(request, route: router.match(path)?.route ?? "none", status: status, since: Clock.monotonicNanoseconds)
    return response(to: Refusal(unread: status), of: request, router.owner(of: path))
  }

  /// Renders the refusal in the form of `api`, or in the common form if the path belongs to no API.
  private func response(to refusal: Refusal, of request: HTTPRequest, _ api: (any HTTPAPI)?) -> HTTPResponse {
    api?.response(to: refusal, of: request) ?? refusal.response
  }

  private func count(_ request: HTTPRequest, route: String, status: Int, since start: UInt64) {
    let method = Sidecar.methods.contains(request.method) ? request.method : "OTHER"
    requests[method, route, String(status)].increment()
    durations.record(nanoseconds: Clock.monotonicNanoseconds - start)
  }

  private static let stopping = Refusal(.unavailable, "stopping").response

  private static let methods: Set<String> = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"]
}
