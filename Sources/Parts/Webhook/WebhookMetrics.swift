import EventLoop
import Telemetry

/// The metrics of the webhook. Only the worker that sends has values other than 0.
@EventLoop

final class WebhookMetrics {
  let delivered: Counter
  let failures: Counter
  let lost: Counter
  var lag: @EventLoop () -> Int = { 0 }
  var isPaused: @EventLoop () -> Bool = { false }

  init(_ metrics: Metrics) {
    delivered = metrics.counter(
      "martlet_webhook_events_delivered_total", help: "Events that the webhook has accepted.")
    failures = metrics.counter(
      "martlet_webhook_failures_total", help: "Requests to the webhook that were not accepted.")
    lost = metrics.counter(
      "martlet_webhook_events_lost_total",
      help: "Events that were deleted from push:events before the webhook accepted them.")
    metrics.gauge(
      "martlet_webhook_lag_seconds", help: "Age of the oldest event that the webhook has not accepted; 0 without one."
    ) { [weak self] in self?.lag() ?? 0 }
    metrics.gauge(
      "martlet_webhook_paused", help: "1 if the webhook is tried only every 15 minutes, because it kept failing."
    ) { [weak self] in self?.isPaused() == true ? 1 : 0 }
  }
}
