import EventLoop
public import Events

/// How a claim ends. Written in one atomic step with the removal of the job from the in-flight list.
public struct Settlement: Sendable, Equatable {
  public enum Verb: Sendable, Equatable {
    /// The job has ended.
    case acknowledge
    /// Runs the job again as `element`, after `delay`.
    case retry(element: [UInt8], delay: Duration)
    /// Runs the job as `element`, not before `at` (unix milliseconds).
    case schedule(element: [UInt8], at: Int64)
    /// Keeps a broadcast as `element` until an operator resumes it: schedules it without a date.
    case pause(element: [UInt8])
    /// Moves the job to the dead letters, as `letter` (``DeadLetter/bytes``), given up `at` (unix milliseconds).
    case bury(letter: [UInt8], at: Int64)
    /// Hands the job back to the front of its queue, as it was claimed. Nothing was sent for it.
    case handBack
  }

  /// The record of a job, for `push:result:<id>`.
  public struct Record: Sendable, Equatable {
    public var jobID: String
    public var json: [UInt8]
    /// Zero if it is not kept: only ``Settlement/replyTo`` gets it.
    public var timeToLive: Duration
    /// The author of the last record that the job itself wrote, ``AttemptState/recordAuthor``.
    public var author: String?

    var isKept: Bool { timeToLive > .zero }

    public init(jobID: String, json: [UInt8], timeToLive: Duration, author: String? = nil) {
      self.jobID = jobID
      self.json = json
      self.timeToLive = timeToLive
      self.author = author
    }
  }

  /// A notification record, for each of its readers that has a credential or a device.
  public struct Notification: Sendable, Equatable {
    public var readers: [NotificationReader]
    public var json: [UInt8]

    public init(readers: [NotificationReader], json: [UInt8]) {
      self.readers = readers
      self.json = json
    }
  }

  /// How operators find a job while it waits for its time, or is dead.
  public struct Locator: Sendable, Equatable {
    public var jobID: String
    /// Whether the id is the producer's. Another job with the same id then replaces this one while it is scheduled.
    public var isProducers: Bool
    /// Whether the job replaces the one that is scheduled under its id, also if it is retried.
    public var replaces: Bool

    public init(jobID: String, isProducers: Bool = false, replaces: Bool = false) {
      self.jobID = jobID
      self.isProducers = isProducers
      self.replaces = replaces
    }
  }

  public var verb: Verb
  /// Nil writes no record.
  public var record: Record?
  /// The key of a list that gets the record, too.
  public var replyTo: String?
  public var notifications: [Notification]
  /// Nil if operators do not need to find the job.
  public var locator: Locator?
  /// What other programs may want to know of this; empty if no events are written.
  public var events: [Event]

  /// Whether there is more to write than the job itself.
  var hasRecords: Bool { record != nil || replyTo != nil || !notifications.isEmpty || !events.isEmpty }

  /// Whether this acknowledges a first attempt, with at most a record: many of these are written by one script, which gives all
  /// records one lifetime. `timeToLive` is that of the others, and is set by the first.
  func isPlain(_ timeToLive: inout Duration?) -> Bool {
    guard case .acknowledge = verb, replyTo == nil, notifications.isEmpty, events.isEmpty else { return false }
    guard let record else { return true }
    guard record.author == nil, timeToLive == nil || timeToLive == record.timeToLive else { return false }
    timeToLive = record.timeToLive
    return true
  }
}

extension Settlement {
  public init(
    _ verb: Verb, record: Record? = nil, replyTo: String? = nil, notifications: [Notification] = [],
    locator: Locator? = nil, events: [Event] = []
  ) {
    self.init(
      verb: verb, record: record, replyTo: replyTo, notifications: notifications, locator: locator, events: events)
  }
}
