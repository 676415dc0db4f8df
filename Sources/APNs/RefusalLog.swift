import PushModel
import EventLoop
import Telemetry

/// Logs refusals: each at level debug; the first of its reason and topic at level warn, then a count once a minute.
@EventLoop
final class RefusalLog {
  /// Reasons and topics come from outside. Combinations beyond this many are counted together.
  static let maximumKinds = 200
  /// Longer topics are truncated.
  private static let maximumTopicCharacters = 256

  private struct Kind: Hashable {
    let reason: String
    let topic: String
    var isFault = false

    static let other = Kind(reason: "other", topic: "other")
  }

  private let log: Log
  private let interval: Duration
  private var warnings: [Kind: ThrottledWarning<Void>] = [:]

  init(log: Log, interval: Duration = .seconds(60)) {
    self.log = log
    self.interval = interval
  }

  /// Logs and counts a refusal. With `isFault` the request was malformed, which is logged as an error.
  func record(_ push: Push, _ answer: APNsAnswer, isFault: Bool = false) {
    let reason = answer.reason ?? "HTTP_\(answer.status)"
    let topic = String(push.shared.topic.prefix(RefusalLog.maximumTopicCharacters))
    log.debug(
      "APNs refused a push",
      [
        "reason": .init(reason), "status": .init(answer.status), "topic": .init(topic),
        "environment": .init(push.shared.environment.rawValue), "token": .init(Log.shortened(push.token)),
        "apnsId": .init(push.apnsID),
      ])
    var kind = Kind(reason: reason, topic: topic, isFault: isFault)
    if warnings[kind] == nil, warnings.count >= RefusalLog.maximumKinds { kind = .other }
    if let warning = warnings[kind] { return warning.warn(()) }
    let warning = ThrottledWarning<Void>(interval: interval) { [log, kind] count, _ in
      RefusalLog.write(kind, count: count, to: log)
    }
    warnings[kind] = warning
    warning.warn(())
  }

  /// Forgets kinds without a refusal for a minute.
  func tick() {
    if !warnings.isEmpty { warnings = warnings.filter { !$0.value.isQuiet } }
  }

  private static func write(_ kind: Kind, count: Int, to log: Log) {
    if kind.isFault {
      // Operator: Check proxies between the worker and APNs; otherwise report a bug.
      log.error(
        "APNs reports a malformed request: a bug in this program, or in a proxy between it and APNs",
        ["reason": .init(kind.reason), "topic": .init(kind.topic), "count": .init(count)])
    } else {
      // Operator: See `reason` and `topic`. `BadDeviceToken` and `Unregistered` in small numbers are normal.
      log.warn(
        "APNs refuses pushes", ["reason": .init(kind.reason), "topic": .init(kind.topic), "count": .init(count)])
    }
  }
}
