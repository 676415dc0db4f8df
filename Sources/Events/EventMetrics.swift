public import EventLoop
public import Telemetry

/// The counters of the events that a process writes.
@EventLoop
public final class EventMetrics {
  private let written: CounterFamily
  let refused: Counter

  public init(_ metrics: Metrics) {
    written = metrics.counters(
      "martlet_events_total", label: "type",
      help: "[events](events.md) written to `push:events`")
    // A counter that is absent until it is needed has no increase when it appears.
    for type in EventType.allCases { _ = written[type.rawValue] }
    refused = metrics.counter(
      "martlet_events_refused_total",
      help: "events lost because Redis refused to write them",
      worry: "it is above 0")
  }

  func countWritten(_ type: EventType) { written[type.rawValue].increment() }
}
