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
      "martlet_webhook_events_delivered_total",
      help: "events that the webhook has accepted",
      worry: "it stops growing while `martlet_events_total` grows")
    failures = metrics.counter(
      "martlet_webhook_failures_total",
      help: "requests to the webhook that were not accepted",
      worry: "it grows")
    lost = metrics.counter(
      "martlet_webhook_events_lost_total",
      help: "events deleted from the stream before the webhook accepted them",
      worry: "it is above 0")
    metrics.gauge(
      "martlet_webhook_lag_seconds",
      help: """
        age of the oldest event of the batch that the webhook has not accepted; 0 without one, and of workers \
        that do not send
        """,
      worry: "it is above 60"
    ) { [weak self] in Double(self?.lag() ?? 0) }
    metrics.gauge(
      "martlet_webhook_paused",
      help: "1 if the webhook kept failing and is tried every 15 minutes only",
      worry: "it is 1"
    ) { [weak self] in self?.isPaused() == true ? 1 : 0 }
  }
}
