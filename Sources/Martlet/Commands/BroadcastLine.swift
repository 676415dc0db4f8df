import JSON
import Operations
import Program
import Queue
import Registry
import Telemetry

/// A broadcast as `martlet broadcast` shows it.
struct BroadcastLine {
  let status: BroadcastStatus
  let audience: AudienceProgress
  /// Unix ms.
  let now: Int64

  private var entry: BroadcastEntry { status.entry }

  var row: [String] {
    [
      entry.id, entry.app, entry.queue, entry.state.rawValue, percent, "\(audience.size)", "\(status.accepted)",
      "\(status.failed)",
    ]
  }

  private var percent: String { "\(Int(audience.percent))%" }

  /// One line per fact.
  var description: String {
    var facts = [
      ("id", entry.id), ("app", entry.app), ("queue", entry.queue), ("state", entry.state.rawValue),
      ("started", Timestamp.text(entry.startedAt)), ("worker", entry.worker),
      ("progress", "\(percent) of \(audience.size)"), ("accepted", "\(status.accepted)"),
      ("failed", "\(status.failed)"),
    ]
    if let pace = status.pace(at: now) { facts.append(("pace", "\(Int(pace)) pushes/s")) }
    if let pause = status.pause { facts.append(("paused", pause.summary)) }
    return Console.facts(facts)
  }

  var json: String {
    let object: JSONObject = [
      "id": entry.id, "app": entry.app, "queue": entry.queue, "state": entry.state.rawValue, "worker": entry.worker,
      "startedAt": entry.startedAt, "changedAt": entry.changedAt, "accepted": status.accepted, "failed": status.failed,
      "audience": audience.size, "passed": audience.passed,
      "pushesPerSecond": status.pace(at: now).map { ($0 * 10).rounded() / 10 }, "paused": status.pause,
    ]
    return object.line
  }
}
