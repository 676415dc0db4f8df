public import PushModel

/// A job, version 1: what is sent to whom, and how. docs/job.schema.json describes its JSON.
public struct Job: Sendable, Equatable {
  /// The longest text of a job, in bytes.
  public static let maximumBytes = 65536
  public static let maximumTokens = 1000
  /// The length of a collapse id, in bytes.
  static let collapseBytes = 1...64
  /// 28 days, in seconds. APNs does not store a notification that long.
  public static let maximumTTL: Int64 = 2_419_200

  /// 1 to 128 of `A-Za-z0-9._:-`. If nil, the worker assigns one.
  public let id: String?
  public let addressee: Addressee
  /// A bundle id. If nil, the device's own.
  public let app: String?
  public let content: JobContent
  /// As given. By default `background` for a notification with `contentAvailable` that is neither seen nor heard, else
  /// `alert`.
  public let pushType: PushType
  /// 1, 5 or 10. As given. By default 5 for `background` and 10 for the others.
  public let priority: Int
  /// At most 64 bytes.
  public let collapseID: String?
  /// Unix seconds. Never together with `ttl`.
  public let expiration: Int64?
  /// Seconds.
  public let ttl: Int64?
  /// Unix milliseconds. The job is not sent before.
  public let sendAt: Int64?
  /// Unix milliseconds, by the producer's clock, as given: ``enqueued``.
  public let enqueuedAt: Int64?
  public let dedupe: String?
  /// Whether a push that may have been delivered is not sent again: it may be lost, but is never sent twice.
  public let atMostOnce: Bool
  /// The key of the list to which the result is pushed.
  public let replyTo: String?
  /// Nil unless the producer named one. Stands in records and log lines.
  public let trace: TraceParent?
  /// Only of a job to a token.
  public let pusher: Pusher?
  /// Whether a null is sent, which may keep iOS from showing the push.
  public let hasNullInPayload: Bool
}

/// What a job sends to a device.
public enum JobContent: Sendable, Equatable {
  /// The text of a JSON object, sent byte for byte: that of the job, or one made of the parts of a notification.
  case payload([UInt8])
  /// A notification class of a delivery policy, by its name; only to an instance.
  case classed(String, preview: String?)
  /// What a Live Activity shows, with the alert of the notification. Indirect, because a job is copied often.
  indirect case activity(LiveActivity, Notification)
  /// The newest state of the Live Activity that the job is addressed to.
  case newestState
}

extension Job {
  /// Whether the job has the content of a Live Activity in fields, not in `payload`.
  public var isOfActivity: Bool {
    guard pushType == .liveactivity else { return false }
    return switch content {
    case .activity, .newestState: true
    case .payload, .classed: false
    }
  }

  /// Nil unless the job starts, updates or ends a Live Activity.
  public var liveActivity: LiveActivity? {
    if case .activity(let activity, _) = content { activity } else { nil }
  }
}

extension Charset {
  /// The id of a job or of an instance.
  static let id = Charset("._:-", length: 1...128)
  /// The name of a notification class or of a delivery policy.
  package static let className = Charset(
    of: "abcdefghijklmnopqrstuvwxyz0123456789_", length: 1...64, "1 to 64 lower-case letters, digits or _")
}
