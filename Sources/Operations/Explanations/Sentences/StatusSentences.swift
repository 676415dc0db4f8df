import Jobs
import PushModel

/// What became of a job, by the status of its record.
enum StatusSentences {
  static func outcome(_ record: JobResult) -> String {
    let total = record.accepted + record.failed
    switch record.status {
    case .accepted:
      return "APNs accepted it for \(Words.devices(record.accepted)). APNs does not say whether a device showed it."
    case .partial:
      return
        "APNs accepted it for \(record.accepted) of \(Words.devices(total)); \(record.failed) did not get it: "
        + "\(Words.list(record.reasons))."
    case .failed: return "No device got it: \(Words.list(record.reasons))."
    case .noDevices:
      return "It was not sent, because the addressee has no devices\(kind(record).map { " of the kind \($0)" } ?? "")."
    case .duplicate:
      return "It was not sent, because another job with the same dedupe value was sent within 24 hours before."
    case .expired: return "It was not sent, because its expiration had passed."
    case .unsent:
      return "It was not pushed, because APNs is not configured (polling-only mode); the addressee can poll for it."
    case .suppressed: return suppressed(record.reason ?? "")
    case .deferred where record.reason == "no_token_yet":
      return "It was not sent yet: the Live Activity has no update token. It is sent when the app registers one."
    case .superseded:
      let newer = record.reason.map { ": \($0)" } ?? ""
      return "It was not sent, because another job has brought a newer state of the Live Activity\(newer)."
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

  private static func cancelled(_ record: JobResult) -> String {
    guard record.accepted > 0 else { return "It was not sent, because an operator cancelled it." }
    return "An operator cancelled it after APNs had accepted it for \(Words.devices(record.accepted))."
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
      return "APNs accepted it for \(Words.devices(record.accepted)); the others are tried again: \(reason)."
    }
    return "It was not delivered yet and is tried again: \(reason)."
  }
}
