import Credentials
import EventLoop
import HTTPServer
import Operations
import Redis
import Telemetry

/// Finds out who sent a request. Nothing is cached: an operator who is revoked or disabled is refused from the next request on.
@EventLoop
final class OperatorAccess {
  /// Who sent a request.
  enum Sender {
    /// `cookie`: what the answer must set, nil if nothing.
    case `operator`(Operator, cookie: String?)
    /// Nobody has signed in, or the session has ended.
    case unknown(hadSession: Bool)
  }

  private let configuration: DashboardConfiguration
  private let credentials: Credentials
  private let sessions: SessionStore
  private let failures: FailureLimit
  private let uses: LastUses

  init(_ context: DashboardContext, metrics: Metrics) {
    configuration = context.configuration
    credentials = context.credentials
    uses = context.lastUses
    sessions = SessionStore(connection: context.connection)
    let failed = metrics.counters(
      "martlet_dashboard_auth_failures_total", label: "kind",
      help: "failed sign-ins; `kind` is `operator`",
      worry: "it grows fast: secrets are being guessed")
    _ = failed[Credential.Kind.operator.rawValue]
    failures = FailureLimit(
      configuration.failureLimit, limiter: RateLimiter(connection: context.connection), failures: failed,
      log: context.log)
  }

  /// Whether there is an operator, enabled or not.
  func hasOperators() async throws(RedisError) -> Bool { try await credentials.operatorPresence() == .some }

  /// Throws 401 for wrong Basic credentials, 403 if there is no operator and the request is not let in without one, 429
  /// after too many failures.
  func sender(of request: HTTPRequest, now: Int64) async throws(PageError) -> Sender {
    switch BasicCredentials(request.headers) {
    case .named(let name, let secret):
      guard let found = try await check(name, secret, request) else { throw .unauthorized }
      return .operator(Operator(found, hasSession: false), cookie: nil)
    case .invalid: throw .unauthorized
    case .none: break
    }
    let cookie = cookie(of: request)
    if let id = cookie.id(in: request.headers), let session = try await refusingFaults(await sessions.read(id)) {
      let credential = try await refusingFaults(await credentials.credential(.operator, session.operator))
      return try await sender(session, id, credential, cookie, now)
    }
    switch try await refusingFaults(await credentials.operatorPresence()) {
    case .some: return .unknown(hadSession: cookie.id(in: request.headers) != nil)
    // Others may have got used to a dashboard that asks who they are, and a proxy may be in front of it.
    case .revoked: throw .allRevoked
    case .never:
      guard !configuration.listener.trustedProxies.areTrusted(in: request) else { throw .proxyWithoutOperators }
      guard LocalAccess.isLocal(request) else { throw .withoutOperators }
      return .operator(.local, cookie: nil)
    }
  }

  /// Whether ``sender(of:now:)`` may find an operator, as far as the header fields tell.
  func mayKnowSender(of request: HTTPRequest) -> Bool {
    switch BasicCredentials(request.headers) {
    case .named(let name, _):
      let address = configuration.listener.trustedProxies.clientAddress(of: request)
      return !failures.isBlocked(
        .operator, Credential.normalized(name, of: .operator) ?? "", from: address.client, at: address.site)
    case .invalid: return false
    case .none: return cookie(of: request).id(in: request.headers) != nil || LocalAccess.isLocal(request)
    }
  }

  /// Signs an operator in. Returns the operator and the value of `Set-Cookie`; nil for a wrong name or secret.
  func signIn(
    _ name: String, _ secret: String, _ request: HTTPRequest, now: Int64
  ) async throws(PageError) -> (operator: Operator, cookie: String)? {
    guard let found = try await check(name, secret, request) else { return nil }
    let cookie = cookie(of: request)
    let id = try await refusingFaults(await sessions.add(found, now: now))
    // The browser's earlier session ends, so that an id never outlives a sign-in.
    if let earlier = cookie.id(in: request.headers) { try await refusingFaults(await sessions.remove(earlier)) }
    return (Operator(found, hasSession: true), cookie.setting(id, seconds: Int(Session.lifetime / 1000)))
  }

  /// Ends the session of the request, also for those who have another id of it. Returns the value of `Set-Cookie`.
  func signOut(_ request: HTTPRequest) async throws(PageError) -> String {
    let cookie = cookie(of: request)
    if let id = cookie.id(in: request.headers) { try await refusingFaults(await sessions.remove(id)) }
    return cookie.removal
  }

  /// The value of `Set-Cookie` that removes the session's cookie.
  func removal(for request: HTTPRequest) -> String { cookie(of: request).removal }

  private func sender(
    _ session: Session, _ id: SessionID, _ credential: Credential?, _ cookie: SessionCookie, _ now: Int64
  ) async throws(PageError) -> Sender {
    let decision = session.decision(credential, id, now: now)
    guard decision == .use || decision == .rotate, let credential else {
      if decision == .end { try await refusingFaults(await sessions.remove(id)) }
      return .unknown(hadSession: true)
    }
    uses.record(credential)
    let `operator` = Operator(credential, hasSession: true)
    guard decision == .rotate, let next = try await refusingFaults(await sessions.rotate(session, id, now: now)) else {
      return .operator(`operator`, cookie: nil)
    }
    return .operator(`operator`, cookie: cookie.setting(next, seconds: Int(session.left(at: now) / 1000)))
  }

  /// Returns the operator with this name and secret, or nil. Failures count for the address and the name.
  private func check(_ name: String, _ secret: String, _ request: HTTPRequest) async throws(PageError) -> Credential? {
    let known = Credential.normalized(name, of: .operator)
    let address = configuration.listener.trustedProxies.clientAddress(of: request)
    do throws(FailureLimit.Fault) {
      let found = try await failures.check(
        .operator, known ?? "", from: address.client, at: address.site
      ) { () async throws(RedisError) -> Credential? in
        guard let known else { return nil }
        return try await credentials.enabled(.operator, known, secret: secret)
      }
      if let found { uses.record(found) }
      return found
    } catch {
      switch error {
      case .redis(let fault): throw PageError(fault)
      case .blocked(_, let left): throw .tooManyFailures(seconds: WindowCount.seconds(left))
      }
    }
  }

  private func cookie(of request: HTTPRequest) -> SessionCookie {
    let listener = configuration.listener
    return SessionCookie(request, hasTLS: listener.certificate != nil, trusting: listener.trustedProxies)
  }
}

extension PageError {
  /// How to add the first operator.
  static let operatorFix = "martlet credentials add operator NAME --role admin"

  fileprivate static var unauthorized: PageError {
    var error = PageError(401, "Not signed in", "The name or the secret is wrong, or the operator is disabled.")
    error.headers = [("WWW-Authenticate", "Basic realm=\"martlet\", charset=\"UTF-8\"")]
    return error
  }

  fileprivate static var withoutOperators: PageError {
    PageError(
      403, "No operators",
      "No operator exists, so the dashboard answers only this machine (http://localhost or 127.0.0.1, without a proxy). "
        + "To sign in from elsewhere, add an operator: \(operatorFix)")
  }

  fileprivate static var allRevoked: PageError {
    PageError(
      403, "No operator is left",
      "Every operator was revoked, so nobody can sign in. To sign in, add one: \(operatorFix). "
        + "To use the dashboard on this machine without a sign-in again, remove the key \(CredentialKeys.operatorMark) from Redis."
    )
  }

  fileprivate static var proxyWithoutOperators: PageError {
    PageError(
      403, "No operators",
      "No operator exists, and the request came from a proxy of MARTLET_TRUSTED_PROXIES: there the dashboard needs a sign-in. "
        + "Add an operator: \(operatorFix)")
  }

  fileprivate static func tooManyFailures(seconds: Int) -> PageError {
    var error = PageError(
      429, "Too many attempts",
      "Too many wrong secrets for this name came from your address. Try again in \(TimeText.duration(Int64(seconds) * 1000))."
    )
    error.headers = [("Retry-After", String(seconds))]
    return error
  }

  /// The request was caused by another site.
  static let crossOrigin = PageError(
    403, "Request from another site",
    "Your browser says that another site caused this request, so nothing was done. Open the dashboard itself and try again. "
      + "A proxy in front of it must pass the Host header on.")
}
