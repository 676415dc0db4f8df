import Policy

/// What an instance has used of a policy, and what would happen to a notification of each class now. Pure.
struct InstanceUse: Sendable, Equatable {
  struct Limit: Sendable, Equatable {
    let limit: RateLimit
    let used: Int
    /// When one more is allowed again; nil if the limit is not used up. Unix ms.
    let freeAt: Int64?
  }

  struct Forecast: Sendable, Equatable {
    let className: String
    let decision: PolicyDecision
  }

  let limits: [Limit]
  let forecasts: [Forecast]
  let state: PolicyState

  init(_ state: PolicyState, of policy: DeliveryPolicy, now: Int64, localTime: LocalTime) {
    self.state = state
    limits = policy.limits.map { limit in
      let window = limit.seconds * 1000
      let counted = state.grants.map(\.at).filter { now - $0 < window }.sorted()
      // One more fits as soon as fewer than `limit.count` are left in the window.
      let excess = counted.count - limit.count
      return Limit(limit: limit, used: counted.count, freeAt: excess >= 0 ? counted[excess] + window : nil)
    }
    forecasts = policy.classes.map { notificationClass in
      let request = PolicyRequest(job: InstanceUse.job, notificationClass: notificationClass, expiration: nil)
      let decision = policy.decide(state, request, now: now, localTime: localTime).decision
      return Forecast(className: notificationClass.name, decision: decision)
    }
  }

  /// No nonce has this form, so it is none of the jobs that the state remembers.
  private static let job = "forecast of the dashboard"
}
