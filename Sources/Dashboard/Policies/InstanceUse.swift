import Policy

/// What an instance has used of a policy, and what would happen to a notification of each class now. Pure.
struct InstanceUse: Sendable, Equatable {
  struct Forecast: Sendable, Equatable {
    let className: String
    let decision: PolicyDecision
  }

  let limits: [LimitUse]
  let forecasts: [Forecast]
  let state: PolicyState

  init(_ state: PolicyState, of policy: DeliveryPolicy, now: Int64, localTime: LocalTime) {
    self.state = state
    limits = policy.usage(of: state, now: now)
    forecasts = policy.classes.map { notificationClass in
      let request = PolicyRequest(job: InstanceUse.job, notificationClass: notificationClass, expiration: nil)
      let decision = policy.decide(state, request, now: now, localTime: localTime).decision
      return Forecast(className: notificationClass.name, decision: decision)
    }
  }

  /// No nonce has this form, so it is none of the jobs that the state remembers.
  private static let job = "forecast of the dashboard"
}
