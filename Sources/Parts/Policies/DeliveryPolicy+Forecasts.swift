import Jobs
import Operations

extension DeliveryPolicy {
  /// What would happen to a notification of each class now, by the state of an instance. Pure.
  func forecasts(
    _ state: PolicyState, now: Int64, localTime: LocalTime
  ) -> [(className: String, decision: PolicyDecision)] {
    classes.map { notificationClass in
      // No nonce has this form, so it is none of the jobs that the state remembers.
      let request = PolicyRequest(
        job: "forecast of the dashboard", notificationClass: notificationClass, expiration: nil)
      return (notificationClass.name, decide(state, request, now: now, localTime: localTime).decision)
    }
  }
}
