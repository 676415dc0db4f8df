import Credentials
import EventLoop
import HTTPServer
import Redis
import Registry
import Telemetry

/// Keeps secrets from being guessed: a client that has failed too often for a name is refused for the rest of the window, with
/// right credentials, too. Failures are counted in redis for the whole fleet; other requests cost nothing.
@EventLoop
final class FailureLimit {
  /// What came of a check.
  enum Outcome<Found> {
    case known(Found)
    case unknown
    /// Seconds.
    case blocked(retryAfter: Int)
  }

  private let limit: WindowLimit?
  private let proxies: TrustedProxies
  private let limiter: RateLimiter
  private let log: Log
  private let lines: FailedAuthenticationLog
  private let failures: CounterFamily
  private var table: FailureTable?

  init(_ configuration: SidecarConfiguration, limiter: RateLimiter, metrics: Metrics, log: Log) {
    limit = configuration.failureLimit
    proxies = configuration.trustedProxies
    self.limiter = limiter
    self.log = log
    lines = FailedAuthenticationLog(log)
    failures = metrics.counters(
      "martlet_auth_failures_total", label: "kind", help: "Failed authentications of users, API keys and instances.")
    for kind in Credential.Kind.allCases { _ = failures[kind.rawValue] }
    table = limit.map { FailureTable($0) }
  }

  /// Does `find`, which returns nil for who is nobody, unless the client has failed too often for `name`.
  func check<Found>(
    _ kind: Credential.Kind, _ name: String, of request: HTTPRequest,
    _ find: @EventLoop () async throws(RedisError) -> Found?
  ) async throws(RedisError) -> Outcome<Found> {
    if let seconds = blocked(kind, name, request) { return .blocked(retryAfter: seconds) }
    let found = try await find()
    // Others of this client may have failed meanwhile: many at once are not more guesses.
    if let seconds = blocked(kind, name, request) { return .blocked(retryAfter: seconds) }
    if let found { return .known(found) }
    return await fail(Claim(kind: kind, address: proxies.client(of: request), name: name))
  }

  private func blocked(_ kind: Credential.Kind, _ name: String, _ request: HTTPRequest) -> Int? {
    guard let table, !table.isEmpty else { return nil }
    let claim = Claim(kind: kind, address: proxies.client(of: request), name: name)
    guard let left = table.blocked(claim, now: Clock.monotonicNanoseconds) else { return nil }
    lines.failed(from: claim.address, isRefused: true)
    return WindowCount.seconds(left)
  }

  private func fail<Found>(_ claim: Claim) async -> Outcome<Found> {
    failures[claim.kind.rawValue].increment()
    lines.failed(from: claim.address, isRefused: false)
    guard let limit, let own = table?.fail(claim, now: Clock.monotonicNanoseconds), own.isShared else {
      return .unknown
    }
    let fleet: WindowCount
    do { fleet = try await limiter.count(.failure, of: claim.subject, limit) } catch {
      // This process goes on counting by itself.
      log.debug("a failed authentication was not counted in redis", ["reason": .init("\(error)")])
      return .unknown
    }
    guard fleet.count >= limit.count else { return .unknown }
    table?.block(claim, for: fleet.left, now: Clock.monotonicNanoseconds)
    return fleet.count > limit.count ? .blocked(retryAfter: WindowCount.seconds(fleet.left)) : .unknown
  }
}
