import EventLoop
import Telemetry

/// The metrics of a client.
@EventLoop
final class ClientInstruments {
  /// Pushes sent and not finished.
  var pending = 0
  let connections: Counter
  let resends: Counter
  private let outcomes: CounterFamily
  private let tokenRefusals: CounterFamily
  private let accepted: Counter
  private let notProcessed: Counter
  private let uncertain: Counter
  private let duration: Histogram

  init(metrics: Metrics) {
    outcomes = metrics.counters(
      "martlet_apns_pushes_total", label: "outcome",
      help: "pushes by outcome: `accepted`, `not_processed`, `uncertain`, or APNs' reason",
      worry: "the share of refusals changes; `uncertain` grows")
    accepted = outcomes["accepted"]
    notProcessed = outcomes["not_processed"]
    uncertain = outcomes["uncertain"]
    tokenRefusals = metrics.counters(
      "martlet_apns_token_refusals_total", label: "reason",
      help: "answers of APNs that refuse the provider token, also those after which a second attempt was accepted",
      worry: "it grows: clock, key, or too many renewals")
    // A counter that is absent until it is needed has no increase when it appears.
    for reason in ["ExpiredProviderToken", "InvalidProviderToken", "TooManyProviderTokenUpdates"] {
      _ = tokenRefusals[reason]
    }
    connections = metrics.counter(
      "martlet_apns_connections_total",
      help: "connections opened to APNs",
      worry: "it grows steadily: connections break")
    resends = metrics.counter(
      "martlet_apns_resends_total",
      help: "pushes sent again at once, because APNs had not processed them",
      worry: "it grows steadily")
    duration = metrics.histogram(
      "martlet_apns_push_seconds",
      help: "time from sending a push to its outcome",
      worry: "it is above 1 s")
    metrics.gauge(
      "martlet_apns_pending",
      help: "pushes sent whose outcome is not known yet",
      worry: "it stays above 0 without traffic"
    ) { [self] in Double(pending) }
  }

  func record(_ outcome: SendOutcome, nanoseconds: UInt64) {
    pending -= 1
    // It is Martlet's own word, and nothing was sent.
    if case .answered(let answer) = outcome, !answer.isOfAPNs { return }
    duration.record(nanoseconds: nanoseconds)
    switch outcome {
    case .answered(let answer):
      if let reason = answer.reason { outcomes[reason].increment() } else { accepted.increment() }
    case .notProcessed: notProcessed.increment()
    case .uncertain: uncertain.increment()
    }
  }

  func recordTokenRefusal(_ answer: APNsAnswer) {
    tokenRefusals[answer.reason ?? "HTTP_\(answer.status)"].increment()
  }
}
