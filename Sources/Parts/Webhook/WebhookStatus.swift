import EventLoop
import Events
import JSON
import Operations
import Program
import Redis

/// The webhook, as `martlet status` and `martlet doctor` show it.
extension WebhookState {
  /// A line for each thing to know. `now` is unix milliseconds.
  func text(at now: Int64) -> String {
    var text = "\nwebhook: \(delivered) events delivered"
    if lost > 0 { text += ", \(lost) deleted before they could be sent" }
    guard let failure else { return text + "\n" }
    let seconds = max(0, now - failure.since) / 1000
    let next = max(0, failure.nextAttemptAt - now) / 1000
    let what = failure.isPaused ? "paused" : "not accepted"
    text += "\n  \(what) for \(seconds) s, \(failure.attempts) attempts, the next in \(next) s: \(failure.answer)"
    return text + "\n  fix: \(WebhookState.fix)\n"
  }

  /// The finding of `martlet doctor`.
  var checked: Finding {
    guard let failure else {
      return Finding("webhook", .ok, "\(delivered) events delivered")
    }
    let since = Timestamp.text(failure.since)
    return failure.isPaused
      ? Finding("webhook", .problem, "paused, failing since \(since): \(failure.answer)", fix: WebhookState.fix)
      : Finding("webhook", .warning, "failing since \(since): \(failure.answer)", fix: WebhookState.fix)
  }

  /// The finding of the overview; nil while events are accepted. `now` is unix milliseconds.
  func finding(at now: Int64) -> Finding? {
    failure.map { failure in
      let state = failure.isPaused ? "is paused" : "accepts no events"
      return Finding(
        .warning,
        "The webhook \(state) since \(TimeText.duration(max(0, now - failure.since))): \(failure.answer). "
          + "The next attempt is \(TimeText.relative(failure.nextAttemptAt, now: now)).",
        fix: WebhookState.fix)
    }
  }
}
