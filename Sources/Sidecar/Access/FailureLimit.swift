import Credentials
import EventLoop
import HTTPServer
import Redis
import Telemetry

/// Prevents secrets from being guessed: refuses a client that has failed too often for a name until the window ends, even if
/// its credentials are right. Failures are counted in Redis for all sidecars; other requests cost Redis nothing.
@EventLoop
final class FailureLimit {
  private let limit: WindowLimit?
  private let proxies: TrustedProxies
  private let limiter: RateLimiter
  private let log: Log
  private let failedAuthentications: FailedAuthenticationLog
  private let failures: CounterFamily
  private var table: FailureTable?

  init(_ configuration: SidecarConfiguration, limiter: RateLimiter, metrics: Metrics, log: Log) {
    limit = configuration.failureLimit
    proxies = configuration.trustedProxies
    self.limiter = limiter
    self.log = log
    failedAuthentications = FailedAuthenticationLog(log)
    failures = metrics.counters(
      "martlet_auth_failures_total", label: "kind", help: "Failed authentications of users, API keys and instances.")
    for kind in Credential.Kind.allCases { _ = failures[kind.rawValue] }
    table = limit.map { FailureTable($0) }
  }

  /// Returns what `find` returns: nil for invalid credentials, which count as a failure. Throws 429 if the client has failed
  /// too often for `name`.
  func check<Found>(
    _ kind: Credential.Kind, _ name: String, of request: HTTPRequest,
    _ find: @EventLoop () async throws(RedisError) -> Found?
  ) async throws(Refusal) -> Found? {
    try refuseIfBlocked(kind, name, request)
    let found = try await refusingFaults(await find())
    // Other requests of this client may have failed meanwhile. Concurrent requests must not allow more guesses.
    try refuseIfBlocked(kind, name, request)
    if found == nil { try await recordFailure(claims(kind, name, request)) }
    return found
  }

  private func refuseIfBlocked(_ kind: Credential.Kind, _ name: String, _ request: HTTPRequest) throws(Refusal) {
    guard let table, !table.isEmpty else { return }
    for claim in claims(kind, name, request) {
      guard let left = table.blocked(claim, now: Clock.monotonicNanoseconds) else { continue }
      failedAuthentications.record(from: claim.address, isRefused: true)
      throw .tooManyFailures(kind, left: left)
    }
  }

  /// Returns the claims for which a failure counts. A device key is looked up without the id of its instance, so guesses for
  /// many ids also count together.
  private func claims(_ kind: Credential.Kind, _ name: String, _ request: HTTPRequest) -> [Claim] {
    let address = proxies.client(of: request)
    let claim = Claim(kind: kind, address: address, name: name)
    return kind == .instance
      ? [claim, Claim(kind: kind, address: address, name: Claim.anyInstance)] : [claim]
  }

  /// Counts a failure of the claims, which are one client's. Throws 429 if all sidecars together had reached a limit before.
  private func recordFailure(_ claims: [Claim]) async throws(Refusal) {
    failures[claims[0].kind.rawValue].increment()
    failedAuthentications.record(from: claims[0].address, isRefused: false)
    // Before the first suspension, so that concurrent requests find a block.
    let shared = claims.filter { table?.fail($0, now: Clock.monotonicNanoseconds).isShared == true }
    var refusal: Refusal?
    for claim in shared {
      let found = await countInRedis(claim)
      refusal = refusal ?? found
    }
    if let refusal { throw refusal }
  }

  /// Counts a failure in Redis and returns a refusal if the limit had been reached before.
  private func countInRedis(_ claim: Claim) async -> Refusal? {
    guard let limit = limit.map(claim.limit) else { return nil }
    let all: WindowCount
    do { all = try await limiter.count(.failure, of: claim.subject, limit) } catch {
      // This process still counts on its own.
      log.debug("a failed authentication was not counted in redis", ["reason": .init("\(error)")])
      return nil
    }
    guard all.count >= limit.count else { return nil }
    table?.block(claim, for: all.left, now: Clock.monotonicNanoseconds)
    return all.count > limit.count ? .tooManyFailures(claim.kind, left: all.left) : nil
  }
}

extension Refusal {
  fileprivate static func tooManyFailures(_ kind: Credential.Kind, left: Duration) -> Refusal {
    let secrets =
      switch kind {
      case .user: "bearer tokens"
      case .key: "API keys"
      case .instance: "device keys"
      }
    return .tooManyRequests("too many wrong \(secrets) came from this address", after: WindowCount.seconds(left))
  }
}
