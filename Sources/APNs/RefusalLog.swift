import EventLoop
import PushModel
import Telemetry

/// Logs refusals, of APNs and of ``Push/localRefusal``: each at level debug; the first of its reason and topic at level warn, then a
/// count once a minute.
@EventLoop
final class RefusalLog {
  /// Reasons and topics come from outside. Combinations beyond this many are counted together.
  static let maximumKinds = 200
  /// Longer topics are truncated.
  private static let maximumTopicCharacters = 256

  private enum Speaker: Hashable {
    case apns
    /// It calls the request malformed.
    case apnsOfFault
    case martlet
  }

  private struct Kind: Hashable {
    let reason: String
    let topic: String
    let speaker: Speaker

    static func other(of speaker: Speaker) -> Kind { Kind(reason: "other", topic: "other", speaker: speaker) }
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
    let speaker: Speaker = answer.status == 0 ? .martlet : isFault ? .apnsOfFault : .apns
    log.debug(
      speaker == .martlet ? "A push was not sent" : "APNs refused a push",
      [
        "reason": .init(reason), "status": .init(answer.status), "topic": .init(topic),
        "environment": .init(push.shared.environment.rawValue), "token": .init(Log.shortened(push.token)),
        "apnsId": .init(push.apnsID),
      ])
    var kind = Kind(reason: reason, topic: topic, speaker: speaker)
    if warnings[kind] == nil, warnings.count >= RefusalLog.maximumKinds { kind = .other(of: speaker) }
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
    let fields: KeyValuePairs<String, Log.Field> = [
      "reason": .init(kind.reason), "topic": .init(kind.topic), "count": .init(count),
    ]
    switch kind.speaker {
    case .apnsOfFault:
      // Operator: Check proxies between the worker and APNs; otherwise report a bug.
      log.error(
        "APNs reports a malformed request: a bug in this program, or in a proxy between it and APNs", fields)
    case .martlet:
      // Operator: `reason` says what is wrong with the jobs or devices. APNs was not asked.
      log.warn("Pushes are invalid and were not sent", fields)
    case .apns:
      // Operator: See `reason` and `topic`. `BadDeviceToken` and `Unregistered` in small numbers are normal.
      log.warn("APNs refuses pushes", fields)
    }
  }
}
