import JSON
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

  /// The app that the job names, in `app` or as its addressee.
  public var addressedApp: String? {
    if case .app(let app) = addressee { return app }
    return app
  }

  /// Nil unless the job starts, updates or ends a Live Activity.
  public var liveActivity: LiveActivity? {
    if case .activity(let activity, _) = content { activity } else { nil }
  }
}

extension Charset {
  /// The id of a job or of an instance.
  package static let id = Charset("._:-", length: 1...128)
  /// The name of a notification class or of a delivery policy.
  package static let className = Charset(
    of: "abcdefghijklmnopqrstuvwxyz0123456789_", length: 1...64, "1 to 64 lower-case letters, digits or _")
}

extension Job {
  /// What is said of a job with ``hasNullInPayload``.
  public static let nullHint = "The payload has a null; iOS may not show such a push. Leave the field out."

  /// What to look at before the job is sent: it is valid, and probably not meant.
  public var hints: [String] {
    [hasNullInPayload ? Job.nullHint : nil, liveActivity?.hint.map { "liveActivity.\($0)" }].compactMap { $0 }
  }
}

extension Job {
  /// Reads a job's JSON and checks every rule of docs/job.schema.json.
  public init(parsing bytes: [UInt8]) throws(JobError) {
    guard bytes.count <= Job.maximumBytes else { throw JobError(reason: Job.tooLarge) }
    do { self = try Job(element: bytes) } catch { throw ForeignElement(bytes)?.error ?? error }
  }

  private init(element bytes: [UInt8]) throws(JobError) {
    var reader = JobReader(bytes)
    var draft = JobDraft()
    try draft.read(from: &reader)
    try reader.end()
    self = try (consume draft).job()
  }

  /// Reads an element of a queue with a format: one of that format, or a job alone.
  public init(parsing bytes: [UInt8], as format: QueueFormat) throws(JobError) {
    guard bytes.count <= Job.maximumBytes else { throw JobError(reason: Job.tooLarge) }
    let element: (any FormattedElement)?
    do { element = try format.element(bytes) } catch { throw ForeignElement(bytes)?.error ?? error }
    if let element {
      try self.init(try element.wrappedJob())
    } else {
      try self.init(parsing: bytes)
    }
  }

  /// Reads an element of a queue whose format is not known here, for those who only look at it.
  public init(stored bytes: [UInt8]) throws(JobError) {
    if let wrapped = WrappedJob(foundIn: bytes) {
      try self.init(wrapped)
    } else {
      try self.init(parsing: bytes)
    }
  }

  /// The text of the job in an element of a queue whose format is not known: the element itself, or what it wraps.
  public static func json(in bytes: [UInt8]) -> [UInt8] { WrappedJob(foundIn: bytes)?.json ?? bytes }

  private init(_ wrapped: WrappedJob) throws(JobError) {
    var reader = JobReader(wrapped.json)
    var draft = JobDraft()
    try draft.read(from: &reader)
    draft.complete(from: wrapped)
    self = try (consume draft).job()
  }

  /// Throws if the result would be pushed to one of `queues`, where it would be taken for a job.
  public func refuseReply(to queues: some Collection<String>) throws(JobError) {
    guard let replyTo, queues.contains(replyTo) else { return }
    throw JobError(reason: "replyTo: \(replyTo) is a queue of this fleet; name another list")
  }

  /// Whether a job can have this id.
  public static func isID(_ text: String) -> Bool { Charset.id.accepts(text) }

  /// What ``isID(_:)`` accepts, for errors.
  public static let idRule = "1 to 128 of A-Z a-z 0-9 . _ : -"

  /// The reason for refusing a job of more than ``maximumBytes``.
  public static let tooLarge = "larger than \(maximumBytes) bytes"
  /// How many bytes at the beginning of a job that is too large are searched for its id.
  private static let salvageBytes = 900

  /// The `id` of an invalid job, so that its producer finds the record. Returns nil if there is none.
  public static func salvagedID(from bytes: [UInt8]) -> String? {
    if bytes.count > Job.maximumBytes { return salvagedID(fromBeginning: bytes) }
    return WrappedJob.id(in: bytes, ofJob: firstID) ?? firstID(in: bytes)
  }

  /// The `id` of a job, searched for in its first bytes only.
  package static func salvagedID(fromBeginning bytes: [UInt8]) -> String? {
    firstID(in: Array(bytes.prefix(salvageBytes)))
  }

  private static func firstID(in bytes: [UInt8]) -> String? {
    var reader = JSONReader(bytes)
    do {
      try reader.beginObject()
      while let key = try reader.nextKey() {
        guard key == "id" else {
          try reader.skipValue()
          continue
        }
        let id = try reader.readString()
        return Charset.id.accepts(id) ? id : nil
      }
    } catch {
      // Not JSON, which the reason of the refusal reports.
    }
    return nil
  }
}

/// Why bytes are not a valid job.
public struct JobError: Error, Sendable, Equatable {
  /// `title: expected a string, found a number`. Names the field and quotes at most a key of the job, the name of its class, and
  /// words that match a rule of tone.
  public let reason: String

  public init(reason: String) {
    self.reason = reason
  }
}

extension Job {
  /// When the producer enqueued the job, in unix milliseconds. Nil if it is not said, or in seconds.
  public var enqueued: Int64? { enqueuedAt.flatMap { $0 < Timestamp.firstMilliseconds ? nil : $0 } }

  /// 28 days in milliseconds. A job that seems to have waited longer has an invalid `enqueuedAt`, for example in seconds.
  @usableFromInline
  static let maximumWait: Int64 = 28 * 24 * 3600 * 1000

  /// Returns since when the job waits: since `enqueuedAt`, or `sendAt` if that is later. Nil without a valid `enqueuedAt`. All
  /// times are in unix milliseconds.
  @inlinable
  public func waitingSince(now: Int64) -> Int64? {
    guard let enqueuedAt else { return nil }
    let since = max(enqueuedAt, sendAt ?? 0)
    return now - since <= Job.maximumWait ? since : nil
  }
}
