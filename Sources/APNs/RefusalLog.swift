import PushModel
import EventLoop
import Telemetry

/// Refusals in the log: each at debug; at warn the first of its reason and topic, then once a minute with the number since.
@EventLoop
final class RefusalLog {
  /// Reasons and topics come from outside: past this many they are counted together.
  static let maximumKinds = 200
  static let interval = Duration.seconds(60).unsigned
  /// Topics are cut to this many characters.
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

  /// `isFault`: the fault is this program's, which is an error.
  func note(_ push: Push, _ answer: APNsAnswer, isFault: Bool = false, now: UInt64) {
    let reason = answer.reason ?? "HTTP_\(answer.status)"
    let topic = String(push.topic.prefix(RefusalLog.maximumTopicCharacters))
    log.debug(
      "APNs refused a push",
      [
        "reason": .init(reason), "status": .init(answer.status), "topic": .init(topic),
        "environment": .init(push.environment.rawValue), "token": .init(Log.shortened(push.token)),
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

  /// What was refused since the last line, where that is a minute ago; what was not refused for a minute is news again.
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
        "APNs finds the request itself wrong: a fault of this program, or of what stands between here and APNs",
        ["reason": .init(kind.reason), "topic": .init(kind.topic), "count": .init(count)])
    } else {
      log.warn(
        "APNs refuses pushes", ["reason": .init(kind.reason), "topic": .init(kind.topic), "count": .init(count)])
    }
  }
}
