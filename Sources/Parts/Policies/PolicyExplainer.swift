import EventLoop
import Operations
import Redis

/// Says how much of the limits of delivery policies an instance has used.
struct PolicyExplainer: AddresseeExplainer {
  let policies: [DeliveryPolicy]

  func facts(
    of addressee: InspectedAddressee, _ connection: RedisClient, _ text: TimeText
  ) async throws(RedisError) -> PartFacts? {
    guard case .instance(let id) = addressee else { return nil }
    var (findings, isKnown): ([Finding], Bool) = ([], false)
    for policy in policies {
      guard let state = try await PolicyState.read(policy.name, instance: id, from: connection) else { continue }
      findings += PolicyExplainer.findings(policy, state, text)
      if !state.grants.isEmpty { isKnown = true }
    }
    return PartFacts(
      findings: findings, isKnown: isKnown,
      page: PageReference("Limits used by this instance", "policies", query: [("instance", id)]))
  }

  static func findings(_ policy: DeliveryPolicy, _ state: PolicyState, _ text: TimeText) -> [Finding] {
    let name = policy.name
    var findings: [Finding] = []
    for use in policy.usage(of: state, now: text.now) where use.used > 0 {
      let period = TimeText.duration(use.limit.seconds * 1000)
      let numbers = "Policy \(name): \(use.used) of \(use.limit.count) notifications in \(period) are used"
      if let until = use.fullUntil {
        findings.append(Finding(.warning, "\(numbers); the next is allowed at \(text.clock(until))."))
      } else {
        findings.append(Finding(.fact, "\(numbers)."))
      }
    }
    if let held = state.held, held.until > text.now {
      findings.append(
        Finding(.fact, "Policy \(name) holds one notification until \(text.clock(held.until))."))
    }
    return findings
  }
}

extension PolicyState {
  /// Returns nil if there is none, or if its key holds another type.
  @EventLoop
  fileprivate static func read(
    _ policy: String, instance: String, from connection: RedisClient
  ) async throws(RedisError) -> PolicyState? {
    do throws(RedisError) {
      let stored = try await connection.send(RedisCommand("GET", PolicyKeys.state(policy, instance: instance))).contents
      return stored.map { PolicyState(json: $0) }
    } catch {
      guard error.isWrongType else { throw error }
      return nil
    }
  }
}
