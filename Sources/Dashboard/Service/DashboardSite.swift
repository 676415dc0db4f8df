import EventLoop
import HTTPServer
import JSON

/// The pages of a dashboard, and who may see them.
@EventLoop
struct DashboardSite: HTTPSite {
  /// Longer parts of a path are never parameters. Bytes, with percent escapes.
  private static let maximumPart = 4096

  let router: HTTPRouter<any DashboardPage>
  private let responder: PageResponder
  private let access: OperatorAccess
  private let signIn: SignIn
  private let protection: CrossOriginProtection

  init(_ context: DashboardContext, _ access: OperatorAccess) {
    self.access = access
    let pages = DashboardSite.pages(context)
    let router = HTTPRouter(pages.map { ($0.path, $0) }, parameter: DashboardSite.parameter)
    self.router = router
    let further = pages.map(\.section).filter { !Section.own.contains($0) }
    responder = PageResponder(context: context, sections: Section.own + further)
    protection = CrossOriginProtection(trustedProxies: context.configuration.listener.trustedProxies)
    signIn = SignIn(access: access, audit: context.audit, isPage: { router.endpoint(of: $0) != nil })
  }

  private static func pages(_ context: DashboardContext) -> [any DashboardPage] {
    [
      OverviewPage(context: context),
      QueuesPage(context: context),
      QueuePage(context: context),
      JobPage(context: context),
      DeadPage(context: context),
      ScheduledPage(context: context),
      BroadcastsPage(context: context),
      BroadcastPage(context: context),
      SearchPage(context: context),
      DevicesPage(context: context),
      AppsPage(context: context),
      WorkersPage(context: context),
      CredentialsPage(context: context),
      AuditPage(context: context),
    ] + context.configuration.pages.map { $0(context) }
  }

  /// Returns nil for a part of a path that cannot be decoded.
  private static func parameter(_ part: Substring) -> String? {
    part.utf8.count > maximumPart ? nil : String(percentDecoding: part).map(PathPart.id)
  }

  func file(at path: String) -> HTTPResponse? { Assets.response(to: path).map(PageAnswer.protected) }

  /// Whether the request is a form that may be taken, as far as its head tells.
  func needsBody(_ request: PageRoute) -> Bool {
    guard request.method == "POST", protection.allows(request.http) else { return false }
    if request.http.path == SignInPage.path { return true }
    return request.endpoint?.actions.isEmpty == false && access.mayKnowSender(of: request.http)
  }

  func respond(to request: PageRoute) async throws(PageError) -> HTTPResponse {
    let (http, now) = (request.http, Clock.unixMilliseconds)
    guard protection.allows(http) else { throw .crossOrigin }
    if let response = try await signIn.response(to: http, now: now) { return response }
    switch try await access.sender(of: http, now: now) {
    case .operator(let sender, let cookie):
      let fields = cookie.map { [(name: "Set-Cookie", value: $0)] } ?? []
      do throws(PageError) {
        var response = try await responder.response(to: request, by: sender)
        response.headers += fields
        return response
      } catch {
        throw error.shown(to: sender, request.endpoint?.section, fields)
      }
    case .unknown(let hadSession): return try signInFirst(http, hadSession)
    }
  }

  func response(to error: PageError, of request: PageRoute) -> HTTPResponse {
    responder.response(to: error, of: request.http)
  }

  /// The path may be malformed, so the page has the links of the first page.
  func response(toUnread status: Int, of request: PageRoute) -> HTTPResponse {
    responder.response(to: PageError(unread: status), of: HTTPRequest(method: request.method, path: "/"))
  }

  private func signInFirst(_ request: HTTPRequest, _ hadSession: Bool) throws(PageError) -> HTTPResponse {
    guard request.method == "GET" || request.method == "HEAD" else { throw .signedOut }
    var response = signIn.redirection(from: request)
    if hadSession { response.headers.append(("Set-Cookie", access.removal(for: request))) }
    return response
  }
}

/// A request, and the page of its path.
typealias PageRoute = RoutedRequest<any DashboardPage>

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
