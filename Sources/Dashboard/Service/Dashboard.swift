public import Crypto
public import EventLoop
public import Events
public import HTTPServer
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
  private static let budget = 16 << 20

  private let context: DashboardContext
  private let log: Log
  private let router: PageRouter
  private let responder: PageResponder
  private let access: OperatorAccess
  private let signIn: SignIn
  private let protection: CrossOriginProtection
  private let metrics: DashboardMetrics
  private var server: HTTPServer?
  private var isStopping = false

  /// The port it listens on; 0 before ``start()``.
  public var port: Int { server?.port ?? 0 }

  public init(
    _ configuration: DashboardConfiguration, connection: RedisClient, events: EventLog? = nil, metrics: Metrics,
    log: Log
  ) {
    self.log = log
    self.metrics = DashboardMetrics(metrics)
    context = DashboardContext(configuration, connection: connection, events: events, log: log)
    protection = CrossOriginProtection(trustedProxies: configuration.trustedProxies)
    let router = PageRouter(DashboardPages.all(context))
    self.router = router
    responder = PageResponder(context: context)
    access = OperatorAccess(context, metrics: metrics)
    signIn = SignIn(access: access, audit: context.audit, isPage: { router.match($0) != nil })
  }

  /// The answer of `/readyz`.
  public var readiness: HTTPResponse {
    let isReady = context.connection.isReady && !isStopping
    let redis = context.connection.isReady ? "ok" : "unreachable"
    return .json(
      Array("{\"ready\":\(isReady),\"redis\":\"\(redis)\",\"stopping\":\(isStopping)}".utf8),
      status: isReady ? 200 : 503)
  }

  /// Binds the address and listens. Throws ``DashboardError/open(_:)`` if no operator exists and other machines can reach the
  /// address. If Redis does not answer, that is decided with each request.
  public func start() async throws(DashboardError) {
    let address: HTTPAddress
    do { address = try HTTPAddress(parsing: context.configuration.address) } catch { throw .server(error) }
    if !LocalAccess.isLocal(address) { try await requireOperators() }
    do { try listen(address) } catch { throw .server(error) }
  }

  /// Uses another certificate for new connections. If this throws, the certificate in use stays.
  public func replaceCertificate(with certificate: ServerCertificate) throws(HTTPServerError) {
    try server?.replaceCertificate(with: certificate)
  }

  /// Stops listening and lets running requests finish within `grace`.
  public func stop(grace: Duration) async {
    isStopping = true
    await server?.stop(grace: grace)
    await context.audit.flush()
  }

  private func requireOperators() async throws(DashboardError) {
    // If Redis does not answer, each request is judged by itself.
    try? await context.connection.ready(within: Dashboard.patience)
    guard let hasOperators = try? await access.hasOperators(), !hasOperators else { return }
    throw .open(
      "MARTLET_DASHBOARD_ADDRESS is \(context.configuration.address), which other machines can reach, and no operator exists. "
        + "Add one first: \(PageError.operatorFix)")
  }

  private func listen(_ address: HTTPAddress) throws(HTTPServerError) {
    var settings = HTTPServerConfiguration(address: address)
    settings.certificate = context.configuration.certificate
    settings.refusal = { [weak self] status, request in
      EventLoop.assumeIsolated { self?.refuse(status, request) ?? Dashboard.stopping }
    }
    settings.budget.bytes = Dashboard.budget
    settings.trustedProxies = context.configuration.trustedProxies
    settings.needsBody = { [weak self] request in self?.needsBody(request) ?? false }
    let server = HTTPServer(configuration: settings, log: log) { [weak self] request, respond in
      guard let self else { return respond(Dashboard.stopping) }
      self.handle(request, respond)
    }
    try server.start()
    self.server = server
    log.info(
      "dashboard listens",
      [
        "address": .init(context.configuration.address), "port": .init(server.port),
        "tls": .init(booleanLiteral: context.configuration.certificate != nil),
      ])
  }

  private static let stopping = PageAnswer.protected(.text("stopping\n", status: 503))

  private func handle(_ request: HTTPRequest, _ respond: @escaping @EventLoop (HTTPResponse) -> Void) {
    if let asset = Assets.response(to: request.path) { return respond(PageAnswer.protected(asset)) }
    let start = Clock.monotonicNanoseconds
    let match = router.match(request.path)
    Task { @EventLoop in
      let response = await response(to: request, match)
      metrics.count(request, route: match?.page.path ?? "none", status: response.status, since: start)
      respond(response)
    }
  }

  /// Whether the request is a form that may be taken, as far as its head tells.
  private func needsBody(_ request: HTTPRequest) -> Bool {
    guard request.method == "POST", protection.allows(request) else { return false }
    if request.path == SignInPage.path { return true }
    return router.match(request.path)?.page.actions.isEmpty == false && access.mayKnowSender(of: request)
  }

  private func response(to request: HTTPRequest, _ match: PageRouter.Match?) async -> HTTPResponse {
    let now = Clock.unixMilliseconds
    do throws(PageError) {
      guard protection.allows(request) else { throw .crossOrigin }
      if let response = try await signIn.response(to: request, now: now) { return response }
      switch try await access.sender(of: request, now: now) {
      case .operator(let sender, let cookie):
        var response = await responder.response(to: request, match, by: sender)
        if let cookie { response.headers.append(("Set-Cookie", cookie)) }
        return response
      case .unknown(let hadSession): return try signInFirst(request, hadSession)
      }
    } catch {
      return responder.response(to: error, of: request)
    }
  }

  private func signInFirst(_ request: HTTPRequest, _ hadSession: Bool) throws(PageError) -> HTTPResponse {
    guard request.method == "GET" || request.method == "HEAD" else { throw .signedOut }
    var response = signIn.redirection(from: request)
    if hadSession { response.headers.append(("Set-Cookie", access.removal(for: request))) }
    return response
  }

  /// Returns the answer to a request that the server did not read completely.
  private func refuse(_ status: Int, _ request: HTTPRequest) -> HTTPResponse {
    metrics.count(request, route: "none", status: status, since: Clock.monotonicNanoseconds)
    return responder.response(to: PageError(unread: status), of: HTTPRequest(method: request.method, path: "/"))
  }
}

extension PageError {
  fileprivate static let signedOut = PageError(
    401, "Signed out", "Your session has ended, so nothing was done. Sign in and try again.")

  /// The refusal of a request that the server did not read completely, from the status that it chose.
  fileprivate init(unread status: Int) {
    switch status {
    case 413: self.init(413, "Too large", "The form is too large. Nothing was changed.")
    case 431: self.init(431, "Too large", "The header fields of the request are too large.")
    default: self.init(400, "Bad request", "The request is malformed, or its query has too many items.")
    }
  }
}
