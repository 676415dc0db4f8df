public import EventLoop
public import Redis
public import Telemetry

/// Prevents secrets from being guessed: refuses a client that has failed too often for a name until the window ends, even if
/// its credentials are right. Failures are counted in Redis for all processes; other requests cost Redis nothing.
@EventLoop
public final class FailureLimit {
  /// Why credentials were not checked.
  public enum Fault: Error, Sendable {
    case redis(RedisError)
    /// The client has failed too often. `left`: until the limit ends.
    case blocked(Credential.Kind, left: Duration)
  }

  private let limit: WindowLimit?
  private let limiter: RateLimiter
  private let log: Log
  private let failedAuthentications: FailedAuthenticationLog
  private let failures: CounterFamily
  private var table: FailureTable?

  /// - Parameters:
  ///   - limit: the failures of a client for a name; five times as many of its site. Nil means no limit.
  ///   - failures: counts failures by the kind of the credential.
  public init(_ limit: WindowLimit?, limiter: RateLimiter, failures: CounterFamily, log: Log) {
    self.limit = limit
    self.limiter = limiter
    self.log = log
    self.failures = failures
    failedAuthentications = FailedAuthenticationLog(log)
    table = limit.map { FailureTable($0) }
  }

  /// Returns what `find` returns: nil for invalid credentials, which count as a failure. Throws ``Fault/blocked(_:left:)`` if
  /// the client at `address` has failed too often for `name`, or its `site` for all names together.
  public func check<Found>(
    _ kind: Credential.Kind, _ name: String, from address: String, at site: String,
    _ find: @EventLoop () async throws(RedisError) -> Found?
  ) async throws(Fault) -> Found? {
    let claims = FailureLimit.claims(kind, name, address, site)
    try refuseIfBlocked(claims)
    let found: Found?
    do { found = try await find() } catch { throw .redis(error) }
    // Other requests of this client may have failed meanwhile. Concurrent requests must not allow more guesses.
    try refuseIfBlocked(claims)
    if found == nil { try await recordFailure(claims) }
    return found
  }

  /// Whether ``check(_:_:from:at:_:)`` would throw ``Fault/blocked(_:left:)`` at once.
  public func isBlocked(_ kind: Credential.Kind, _ name: String, from address: String, at site: String) -> Bool {
    guard let table, !table.isEmpty else { return false }
    let claims = FailureLimit.claims(kind, name, address, site)
    return claims.contains { table.blocked($0, now: Clock.monotonicNanoseconds) != nil }
  }

  /// The client's own claim first.
  private static func claims(_ kind: Credential.Kind, _ name: String, _ address: String, _ site: String)
    -> [PresentedName]
  {
    [PresentedName(kind: kind, address: address, name: name), PresentedName(kind: kind, address: site, name: nil)]
  }

  private func refuseIfBlocked(_ claims: [PresentedName]) throws(Fault) {
    guard let table, !table.isEmpty else { return }
    for claim in claims {
      guard let left = table.blocked(claim, now: Clock.monotonicNanoseconds) else { continue }
      failedAuthentications.record(from: claim.address, isRefused: true)
      throw .blocked(claim.kind, left: left)
    }
  }

  /// Counts a failure of the claims, the client's own first. Throws if all processes together had reached a limit before.
  private func recordFailure(_ claims: [PresentedName]) async throws(Fault) {
    failures[claims[0].kind.rawValue].increment()
    failedAuthentications.record(from: claims[0].address, isRefused: false)
    // Before the first suspension, so that concurrent requests find a block.
    let shared = claims.filter { table?.fail($0, now: Clock.monotonicNanoseconds).isShared == true }
    var fault: Fault?
    for claim in shared {
      let found = await countInRedis(claim)
      fault = fault ?? found
    }
    if let fault { throw fault }
  }

  /// Counts a failure in Redis and returns a fault if the limit had been reached before.
  private func countInRedis(_ claim: PresentedName) async -> Fault? {
    guard let limit = limit.map(claim.limit) else { return nil }
    let all: WindowCount
    do { all = try await limiter.count(.failure, of: claim.subject, limit) } catch {
      // This process still counts on its own.
      log.debug("a failed authentication was not counted in redis", ["reason": .init("\(error)")])
      return nil
    }
    guard all.count >= limit.count else { return nil }
    table?.block(claim, for: all.left, now: Clock.monotonicNanoseconds)
    return all.isOver ? .blocked(claim.kind, left: all.left) : nil
  }
}
