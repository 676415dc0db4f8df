import FleetSupport
import Redis

@testable import Policies

extension Fleet {
  /// The state of the policy, or nil if there is none.
  func policyState(of instance: String, policy: String = "nyra") async throws -> PolicyState? {
    try await redis("GET", PolicyKeys.state(policy, instance: instance)).bytes.map(PolicyState.init(json:))
  }
}
