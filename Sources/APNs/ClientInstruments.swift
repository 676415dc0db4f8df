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
      help: "Pushes by outcome: accepted, not_processed, uncertain, or APNs' reason.")
    accepted = outcomes["accepted"]
    notProcessed = outcomes["not_processed"]
    uncertain = outcomes["uncertain"]
    tokenRefusals = metrics.counters(
      "martlet_apns_token_refusals_total", label: "reason",
      help: "Answers that refuse the provider token, by APNs' reason; also those after which the push was accepted.")
    // A counter that is absent until it is needed has no increase when it appears.
    for reason in ["ExpiredProviderToken", "InvalidProviderToken", "TooManyProviderTokenUpdates"] {
      _ = tokenRefusals[reason]
    }
    connections = metrics.counter("martlet_apns_connections_total", help: "Connections opened to APNs.")
    resends = metrics.counter(
      "martlet_apns_resends_total", help: "Pushes sent again at once, because APNs had not processed them.")
    duration = metrics.histogram("martlet_apns_push_seconds", help: "Time from sending a push to its outcome.")
    metrics.gauge("martlet_apns_pending", help: "Pushes sent whose outcome is not known yet.") { [self] in pending }
  }

  func record(_ outcome: SendOutcome, nanoseconds: UInt64) {
    pending -= 1
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
