import PushModel
import EventLoop
import Telemetry

/// Logs refusals: each at level debug; the first of its reason and topic at level warn, then a count once a minute.
@EventLoop
final class RefusalLog {
  /// Reasons and topics come from outside. Combinations beyond this many are counted together.
  static let maximumKinds = 200
  static let interval = Duration.seconds(60).unsignedNanoseconds
  /// Longer topics are truncated.
  private static let maximumTopicCharacters = 256

  private struct Kind: Hashable {
    let reason: String
    let topic: String
    var isFault = false

    static let other = Kind(reason: "other", topic: "other")
  }

  private struct Count {
    var sinceLine: Int
    /// On CLOCK_MONOTONIC, nanoseconds.
    var lineAt: UInt64
  }

  private let log: Log
  private var counts: [Kind: Count] = [:]

  init(log: Log) {
    self.log = log
  }

  /// Logs and counts a refusal. With `isFault` the request was malformed, which is logged as an error.
  func record(_ push: Push, _ answer: APNsAnswer, isFault: Bool = false, now: UInt64) {
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
    if counts[kind] == nil, counts.count >= RefusalLog.maximumKinds { kind = .other }
    guard counts[kind] == nil else {
      counts[kind]?.sinceLine += 1
      return
    }
    counts[kind] = Count(sinceLine: 0, lineAt: now)
    write(kind, count: 1)
  }

  /// Logs the refusals since the last line of each kind, once a minute. Forgets kinds without a refusal for a minute.
  func tick(now: UInt64) {
    guard !counts.isEmpty else { return }
    for (kind, count) in counts where now >= count.lineAt + RefusalLog.interval {
      if count.sinceLine == 0 {
        counts[kind] = nil
      } else {
        counts[kind] = Count(sinceLine: 0, lineAt: now)
        write(kind, count: count.sinceLine)
      }
    }
  }

  private func write(_ kind: Kind, count: Int) {
    if kind.isFault {
      log.error(
        "APNs reports a malformed request: a bug in this program, or in a proxy between it and APNs",
        ["reason": .init(kind.reason), "topic": .init(kind.topic), "count": .init(count)])
    } else {
      log.warn(
        "APNs refuses pushes", ["reason": .init(kind.reason), "topic": .init(kind.topic), "count": .init(count)])
    }
  }
}
