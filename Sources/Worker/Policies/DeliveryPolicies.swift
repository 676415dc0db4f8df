import EventLoop
import Jobs
import Policy
import Queue
import Redis

/// The gate of delivery policies, which only jobs with a notification class have. It is the last one: what else would prevent a push
/// uses up no allowance.
@EventLoop
final class DeliveryPolicies: Gate {
  private let gate: PolicyGate
  private let observer: JobObserver
  /// False in polling-only mode.
  private let isSending: Bool

  init(connection: RedisClient, observer: JobObserver, isSending: Bool) {
    gate = PolicyGate(connection: connection, localTime: .system)
    self.observer = observer
    self.isSending = isSending
  }

  func concerns(_ delivery: Delivery) -> Bool {
    guard delivery.match != nil, isSending, case .instance = delivery.job.addressee else { return false }
    return delivery.devices?.isEmpty == false
  }

  func ask(_ deliveries: [Delivery], _ answer: @escaping @EventLoop (Delivery, GateAnswer) -> Void) {
    for delivery in deliveries {
      guard let match = delivery.match, case .instance(let instance) = delivery.job.addressee else {
        answer(delivery, .go)
        continue
      }
      let request = PolicyRequest(
        job: delivery.claim.envelope.nonce ?? delivery.id, notificationClass: match.notificationClass,
        expiration: delivery.state.expiresAt)
      gate.ask(match, instance: instance, request) { [observer] result in
        switch result {
        case .fault(let error): answer(delivery, .postpone(error))
        case .expired: answer(delivery, .end(JobOutcome(status: .expired, exit: .acknowledge)))
        case .decision(let decision, let grounds):
          observer.decided(decision, grounds, delivery)
          answer(delivery, DeliveryPolicies.answer(to: decision))
        }
      }
    }
  }

  private static func answer(to decision: PolicyDecision) -> GateAnswer {
    switch decision {
    case .send: .go
    case .deferUntil(let time):
      .end(JobOutcome(status: .deferred, exit: .schedule(at: time), rule: .quietHours))
    case .suppress(let rule): .end(JobOutcome(status: .suppressed, exit: .acknowledge, rule: rule))
    }
  }
}
