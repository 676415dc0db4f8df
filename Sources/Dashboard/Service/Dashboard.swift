public import EventLoop
public import HTTPServer
public import Redis
public import Telemetry

/// The web dashboard: pages and actions for operators.
@EventLoop
public final class Dashboard {
  private let context: DashboardContext
  private let log: Log
  private let router: PageRouter
  private let responder: PageResponder
  private var server: HTTPServer?

  /// The port it listens on; 0 before ``start()``.
  public var port: Int { server?.port ?? 0 }

  public init(_ configuration: DashboardConfiguration, connection: RedisClient, metrics: Metrics, log: Log) {
    self.log = log
    context = DashboardContext(configuration, connection: connection, log: log)
    router = PageRouter(DashboardPages.all(context))
    responder = PageResponder(context: context)
  }

  /// Binds the address and listens.
  public func start() throws(HTTPServerError) {
    var settings = HTTPServerConfiguration(address: try HTTPAddress(parsing: context.configuration.address))
    settings.certificate = context.configuration.certificate
    let server = HTTPServer(configuration: settings, log: log) { [weak self] request, respond in
      guard let self else { return respond(HTTPResponse.text("stopping\n", status: 503)) }
      self.handle(request, respond)
    }
    try server.start()
    self.server = server
    log.info(
      "dashboard listens", ["address": .init(context.configuration.address), "port": .init(server.port)])
  }

  /// Stops listening and lets running requests finish within `grace`.
  public func stop(grace: Duration) async {
    await server?.stop(grace: grace)
  }

  private func handle(_ request: HTTPRequest, _ respond: @escaping @EventLoop (HTTPResponse) -> Void) {
    if let asset = Assets.response(to: request.path) { return respond(PageAnswer.protected(asset)) }
    let match = router.match(request.path)
    Task { @EventLoop in respond(await responder.response(to: request, match, by: .local)) }
  }
}
