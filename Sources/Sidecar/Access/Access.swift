package import Credentials
package import EventLoop
package import HTTPServer
import Redis
package import Telemetry

/// Decides who may call the APIs, and how often.
@EventLoop
package final class Access {
  package let credentials: Credentials
  package let failures: FailureLimit
  /// Notes who is authenticated.
  package let uses: LastUses
  private let limiter: RateLimiter
  private let configuration: SidecarConfiguration

  package init(_ configuration: SidecarConfiguration, _ backend: Backend, metrics: Metrics, log: Log) {
    self.configuration = configuration
    credentials = backend.credentials
    uses = LastUses(connection: backend.connection)
    limiter = RateLimiter(connection: backend.connection)
    let failed = metrics.counters(
      "martlet_auth_failures_total", label: "kind",
      help: "failed authentications by kind of credential: `user`, `key`, `instance`",
      worry: "it grows fast: secrets are being guessed")
    for kind in Credential.Kind.ofAPIs { _ = failed[kind.rawValue] }
    failures = FailureLimit(configuration.failureLimit, limiter: limiter, failures: failed, log: log)
  }

  /// Returns the client's address, by which requests without credentials are counted.
  package func client(of request: HTTPRequest) -> String { trustedProxies.clientAddress(of: request).client }

  package var trustedProxies: TrustedProxies { configuration.listener.trustedProxies }

  /// Returns the API key that the request sends in `X-API-Key`.
  ///
  /// Throws 401 unless exactly one key was sent and it is known and enabled, 403 if the key lacks the scope, and 429 if the
  /// client has sent too many invalid keys.
  package func apiKey(of request: HTTPRequest, for scope: KeyScope) async throws(Refusal) -> Credential {
    let unauthorized = Refusal(.unauthorized, nil, "Send a valid API key in the header X-API-Key, once")
    guard request.headers["x-api-key"] != nil else { throw unauthorized }
    let secret = request.headers.secret("x-api-key")
    let found = try await failures.checking(.key, "", of: request, trustedProxies) {
      () async throws(RedisError) -> Credential? in
      guard let secret, let found = try await credentials.find(.key, secret: secret) else { return nil }
      return found.isEnabled ? found : nil
    }
    guard let found else { throw unauthorized }
    uses.record(found)
    guard found.scopes.contains(scope) else {
      throw Refusal(.forbidden, nil, "This API key has no scope \"\(scope.rawValue)\"")
    }
    return found
  }

  /// Whether the request may have a valid API key: the field has its form, and the client has not sent too many invalid keys.
  package func mayHaveAPIKey(_ request: HTTPRequest) -> Bool {
    request.headers.secret("x-api-key") != nil && !isBlocked(.key, "", request)
  }

  /// Whether the client of the request has failed too often for this name.
  package func isBlocked(_ kind: Credential.Kind, _ name: String, _ request: HTTPRequest) -> Bool {
    let address = trustedProxies.clientAddress(of: request)
    return failures.isBlocked(kind, name, from: address.client, at: address.site)
  }

  /// Counts `action` of `subject`, as often as `weight` says. Throws 429 if the subject has reached its limit.
  package func admit(_ action: LimitedAction, of subject: String, weight: Int = 1) async throws(Refusal) {
    try await admit([(action, subject, weight)])
  }

  /// Counts all actions, or none: throws 429 if a subject has reached its limit. `weight`: how often the request does it, at
  /// least once.
  package func admit(
    _ actions: [(action: LimitedAction, subject: String, weight: Int)]
  ) async throws(Refusal) {
    let limited: [LimitedSubject] = actions.compactMap { action, subject, weight in
      configuration.limit(of: action).map { (action, subject, $0, weight) }
    }
    guard !limited.isEmpty else { return }
    let counts = try await refusingFaults(await limiter.count(limited))
    guard let over = zip(limited, counts).first(where: { $1.isOver }) else { return }
    let (action, limit, count) = (over.0.action, over.0.limit, over.1)
    throw .tooManyRequests(
      "at most \(limit.count) \(action.plural) within \(WindowCount.seconds(limit.window)) s",
      after: WindowCount.seconds(count.left))
  }

  /// Takes a request, or `weight` of `things`, at least one, from the quota of an API key. Throws 429 if the quota is used up.
  package func admit(_ key: Credential, weight: Int = 1, _ things: String = "requests") async throws(Refusal) {
    let decision = try await refusingFaults(await limiter.take(key.name, key.quota, weight: weight))
    switch decision {
    case .admitted: return
    case .tooFast(let seconds):
      throw .tooManyRequests(
        "at most \(key.quota.perSecond) \(things) a second, in bursts of up to \(key.quota.burst)", after: seconds)
    case .dayUsedUp(let seconds):
      throw .tooManyRequests("at most \(key.quota.perDay) \(things) a day (UTC)", after: seconds)
    }
  }
}

extension SidecarConfiguration {
  fileprivate func limit(of action: LimitedAction) -> WindowLimit? {
    switch action {
    case .registration: registrationLimit
    case .testPush: testLimit
    case .broadcast: broadcastLimit
    case .notification: notificationLimit
    case .notificationOfDevice: deviceNotificationLimit
    case .failure: failureLimit
    }
  }
}

extension LimitedAction {
  /// The action in the text of a refusal.
  fileprivate var plural: String {
    switch self {
    case .registration: "registrations"
    case .testPush: "test pushes"
    case .broadcast: "requests to /newtoken and /newpush and jobs of /api/push"
    case .notification: "notifications of an address, one for each device,"
    case .notificationOfDevice: "notifications for a device"
    case .failure: "failed authentications"
    }
  }
}

extension HTTPHeaders {
  /// Longer values are not secrets of this service, and are not hashed.
  private static let maximumSecretBytes = 512

  /// Returns the value of a field that must be there exactly once, otherwise nil.
  package func secret(_ name: String) -> String? {
    let values = values(of: name)
    guard values.count == 1, (1...HTTPHeaders.maximumSecretBytes).contains(values[0].utf8.count) else { return nil }
    return values[0]
  }
}
