public import Crypto
public import EventLoop
public import Telemetry

/// A server and what it answers: routes, refusals, faults, limits, and its counts of requests.
@EventLoop
public final class HTTPApplication<Site: HTTPSite> {
  package let site: Site
  private let configuration: HTTPServerConfiguration
  private let metrics: RequestMetrics?
  private let failures: FailedRequestLog
  private let log: Log
  private var server: HTTPServer?
  package private(set) var isStopping = false

  /// The port it listens on; 0 before ``start()``.
  public var port: Int { server?.port ?? 0 }

  /// - Parameter metrics: nil if requests are not counted.
  public init(_ site: Site, on configuration: HTTPServerConfiguration, metrics: RequestMetrics?, log: Log) {
    self.site = site
    self.configuration = configuration
    self.metrics = metrics
    self.log = log
    failures = FailedRequestLog(log)
  }

  /// Binds the address and listens.
  public func start() throws(HTTPServerError) {
    var configuration = configuration
    configuration.refusal = { [weak self] status, request in
      EventLoop.assumeIsolated { self?.refuse(status, request) ?? HTTPServer.unavailable }
    }
    configuration.needsBody = { [weak self] request in
      guard let self else { return false }
      return site.needsBody(route(request, request.path))
    }
    configuration.largerBodyLimit = { [weak self] request in
      guard let self else { return nil }
      return site.maximumBodyBytes(of: route(request, request.path))
    }
    let server = HTTPServer(configuration: configuration, log: log) { [weak self] request, respond in
      guard let self else { return respond(HTTPServer.unavailable) }
      answer(request, respond)
    }
    try server.start()
    self.server = server
    log.info(
      configuration.announcement,
      [
        "address": .init("\(configuration.address)"), "port": .init(server.port),
        "tls": .init(booleanLiteral: configuration.certificate != nil),
      ])
  }

  /// Uses another certificate for new connections. If this throws, the certificate in use stays.
  public func replaceCertificate(with certificate: ServerCertificate) throws(HTTPServerError) {
    try server?.replaceCertificate(with: certificate)
  }

  /// Stops listening and lets running requests finish within `grace`. Of several calls, the grace time that ends first
  /// counts.
  public func stop(grace: Duration) async {
    isStopping = true
    await server?.stop(grace: grace)
  }

  private func answer(_ http: HTTPRequest, _ respond: @escaping @EventLoop (HTTPResponse) -> Void) {
    if let file = site.file(at: http.path) { return respond(file) }
    let start = Clock.monotonicNanoseconds
    let request = route(http, http.path)
    EventLoop.start { [self] in
      let response = await response(to: request)
      metrics?.count(request, status: response.status, since: start)
      respond(response)
    }
  }

  private func response(to request: RoutedRequest<Site.Endpoint>) async -> HTTPResponse {
    do throws(Site.Refusal) {
      return try await site.respond(to: request)
    } catch {
      if let fault = error.fault { failures.record(fault, of: request.route) }
      return site.response(to: error, of: request)
    }
  }

  /// Returns the answer to a request that the server did not read completely.
  private func refuse(_ status: Int, _ http: HTTPRequest) -> HTTPResponse {
    // If the target cannot be read, the path is the whole target with its query.
    let request = route(http, String(Substring(http.path.utf8.prefix { $0 != UInt8(ascii: "?") })))
    metrics?.count(request, status: status, since: Clock.monotonicNanoseconds)
    return site.response(toUnread: status, of: request)
  }

  private func route(_ http: HTTPRequest, _ path: String) -> RoutedRequest<Site.Endpoint> {
    site.router.route(http, path: path, isStopping: isStopping)
  }
}
