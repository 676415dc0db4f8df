import EventLoop
import Jobs
import Operations
import Queue
import Telemetry
import Worker

/// The gate of delivery policies, which only jobs with a notification class have. It is the last one: what else would prevent a push
/// uses up no allowance.
@EventLoop
final class DeliveryPolicies: Gate {
  private let gate: PolicyGate
  private let decisions: CounterFamily
  /// False in polling-only mode.
  private let isSending: Bool
  private let log: Log

  init(_ context: WorkerContext) {
    gate = PolicyGate(connection: context.connection, localTime: .system)
    isSending = context.clients != nil
    log = context.log
    decisions = context.metrics.counters(
      "martlet_policy_decisions_total", label: "decision",
      help: "decisions of delivery policies: `send`, `deferred`, or the reason of a suppression")
    // A counter that is absent until it is needed has no increase when it appears.
    for decision in ["send", "deferred"] + SuppressionReason.allCases.map(\.rawValue) { _ = decisions[decision] }
  }

  func concerns(_ delivery: Delivery) -> Bool {
    guard delivery.terms != nil, isSending, case .instance = delivery.job.addressee else { return false }
    return delivery.devices?.isEmpty == false
  }

  func ask(_ deliveries: [Delivery], _ answer: @escaping @EventLoop (Delivery, GateAnswer) -> Void) {
    for delivery in deliveries {
      guard let match = delivery.terms as? PolicyMatch, case .instance(let instance) = delivery.job.addressee else {
        answer(delivery, .go)
        continue
      }
      let request = PolicyRequest(
        job: delivery.claim.envelope.nonce ?? delivery.id, notificationClass: match.notificationClass,
        expiration: delivery.state.expiresAt)
      gate.ask(match, instance: instance, request) { [self] result in
        switch result {
        case .fault(let error): answer(delivery, .postpone(error))
        case .expired: answer(delivery, .end(JobOutcome(status: .expired, exit: .acknowledge)))
        case .decision(let decision, let grounds):
          record(decision, grounds, match, delivery)
          answer(delivery, DeliveryPolicies.answer(to: decision))
        }
      }
    }
  }

  /// Counts the decision, and notes one that holds or suppresses the job in its history.
  private func record(
    _ decision: PolicyDecision, _ grounds: PolicyGrounds?, _ match: PolicyMatch, _ delivery: Delivery
  ) {
    let (held, rule): (HistoryPolicy.Decision, SuppressionReason)
    switch decision {
    case .send: return decisions["send"].increment()
    case .deferUntil:
      decisions["deferred"].increment()
      (held, rule) = (.hold, .quietHours)
    case .suppress(let reason):
      decisions[reason.rawValue].increment()
      (held, rule) = (.suppress, reason)
      log.debug(
        "a delivery policy suppressed a notification",
        [
          "id": .init(delivery.id), "class": .init(match.className), "reason": .init(reason.rawValue),
          "trace": .init(delivery.job.trace?.text),
        ])
    }
    var entry = HistoryPolicy(
      policy: match.policyName, className: match.className, decision: held, rule: rule.rawValue)
    entry.limit = grounds?.limit
    entry.used = grounds?.used
    entry.seconds = grounds?.seconds
    entry.until = grounds?.until
    delivery.add(.policy(entry))
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
