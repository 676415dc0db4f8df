import Jobs
import PushModel

/// What became of a job, by the status of its record.
enum StatusSentences {
  /// What to read when a device did not show a push that APNs accepted.
  private static let notShown = "If an accepted push is not shown, see docs/after-apns.md."
  /// Devices whose `apns-unique-id` is told. `martlet result` has those of the others.
  private static let shownUniqueIDs = 5

  /// The outcome, and where to read on.
  static func outcomeAndReading(_ record: JobResult) -> String {
    record.accepted > 0 ? "\(outcome(record)) \(notShown)" : outcome(record)
  }

  /// By what Apple's console finds the pushes; empty for production.
  static func uniqueIDs(_ record: JobResult) -> [String] {
    record.results.lazy.compactMap { result in
      result.uniqueID.map {
        "Apple's Push Notifications Console finds the push to \(Words.shortened(result.token.text)) by apns-unique-id \($0)."
      }
    }.prefix(shownUniqueIDs).map { $0 }
  }

  static func outcome(_ record: JobResult) -> String {
    let total = record.accepted + record.failed
    let isOfChannel = record.history.isOfChannel
    switch record.status {
    case .accepted:
      return "APNs accepted it for \(Words.recipients(record.accepted, isOfChannel))."
    case .partial:
      return
        "APNs accepted it for \(record.accepted) of \(Words.recipients(total, isOfChannel)); \(record.failed) did not get it: "
        + "\(Words.list(record.reasons))."
    case .failed: return "No \(isOfChannel ? "environment" : "device") got it: \(Words.list(record.reasons))."
    case .noDevices:
      return "It was not sent, because the addressee has no devices\(kind(record).map { " of the kind \($0)" } ?? "")."
    case .duplicate where record.reason == "StartedBefore":
      return "It was not sent, because another job has started the Live Activity on all devices."
    case .duplicate:
      return "It was not sent, because another job with the same dedupe value was sent within 24 hours before."
    case .expired: return "It was not sent, because its expiration had passed."
    case .unsent:
      return "It was not pushed, because APNs is not configured (polling-only mode); the addressee can poll for it."
    case .suppressed: return suppressed(record.reason ?? "")
    case .deferred where record.reason == "no_token_yet":
      return
        "It was not sent yet: the Live Activity has no update token of a user whom the state is for. It is sent when the app registers one."
    case .superseded: return superseded(record.reason)
    case .deferred: return "It was not sent yet: a delivery policy holds it until quiet hours end."
    case .retrying: return retrying(record)
    case .cancelled: return cancelled(record)
    case .dead: return "It was given up and is in the dead letters: \(record.reason ?? "no reason given")."
    }
  }

  /// The kind of the devices that the job was for; nil for that of apps.
  private static func kind(_ record: JobResult) -> DeviceKind? {
    for entry in record.history.entries {
      if case .resolved(_, _, let pushType?) = entry.event { return pushType.kind }
    }
    return nil
  }

  /// `superseded by <id>`
  private static func superseded(_ reason: String?) -> String {
    let prefix = "superseded by "
    let newer = reason.flatMap { $0.hasPrefix(prefix) ? "job \($0.dropFirst(prefix.count))" : nil } ?? "another job"
    return "It was not sent, because \(newer) has brought a newer state of the Live Activity, or its end."
  }

  private static func cancelled(_ record: JobResult) -> String {
    guard record.accepted > 0 else { return "It was not sent, because an operator cancelled it." }
    return "An operator cancelled it after APNs had accepted it for "
      + "\(Words.recipients(record.accepted, record.history.isOfChannel))."
  }

  private static func suppressed(_ rule: String) -> String {
    let why =
      switch rule {
      case "limit": "the instance already got as many notifications as its limit allows"
      case "collapsed": "a notification that it collapses with was just sent, or is held"
      case "spacing": "a notification of its class was sent shortly before"
      case "quiet_hours": "its class is not sent in quiet hours"
      case "rhythm": "its class is not sent shortly before quiet hours"
      default: rule
      }
    return "It was not sent, because a delivery policy suppressed it: \(why)."
  }

  private static func retrying(_ record: JobResult) -> String {
    let reason = record.reason ?? "no reason given"
    if reason.hasPrefix("AppBusy") {
      return "It was not sent yet: APNs answers slowly for its app, which has as many pushes in flight as it may have."
    }
    if record.accepted > 0 {
      let accepted = Words.recipients(record.accepted, record.history.isOfChannel)
      return "APNs accepted it for \(accepted); the others are tried again: \(reason)."
    }
    return "It was not delivered yet and is tried again: \(reason)."
  }
}
