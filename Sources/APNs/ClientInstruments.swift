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
  private let accepted: Counter
  private let notProcessed: Counter
  private let uncertain: Counter
  private let duration: Histogram

  init(metrics: Metrics) {
    outcomes = metrics.counters(
      "martlet_apns_pushes_total", label: "outcome",
      help: "Pushes by APNs' reason, or accepted, not_processed, uncertain.")
    accepted = outcomes["accepted"]
    notProcessed = outcomes["not_processed"]
    uncertain = outcomes["uncertain"]
    connections = metrics.counter("martlet_apns_connections_total", help: "Connections opened.")
    resends = metrics.counter("martlet_apns_resends_total", help: "Pushes sent again, certainly not processed before.")
    duration = metrics.histogram("martlet_apns_push_seconds", help: "From send to outcome.")
    metrics.gauge("martlet_apns_pending", help: "Pushes sent and not yet ended.") { [self] in
      [("", Double(pending))]
    }
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
}
