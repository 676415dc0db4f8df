public import Jobs

/// What becomes of a claimed job: written in one atomic step with its removal from the in-flight list.
public struct Settlement: Sendable, Equatable {
  public enum Verb: Sendable, Equatable {
    /// The job has ended.
    case acknowledge
    /// Run it again `delay` from now, as `element`.
    case retry(element: [UInt8], delay: Duration)
    /// Not before `at` (unix milliseconds), as `element`.
    case schedule(element: [UInt8], at: Int64)
    /// To the dead letters, as `letter` (``DeadLetter``).
    case bury(letter: [UInt8])
    /// Back to the front of the queue, as it was claimed: nobody has begun it.
    case handBack
  }

  public var verb: Verb
  /// The record, for `push:result:<id>`; nil writes none.
  public var record: Record?
  /// The record goes to this list, too.
  public var replyTo: String?
  /// Notification records for polling.
  public var notifications: [Notification]

  public struct Record: Sendable, Equatable {
    public var jobID: String
    public var json: [UInt8]
    public var timeToLive: Duration
    /// Leaves a record that is there already as it is.
    public var onlyIfAbsent: Bool
    /// Of the last record that the job itself wrote, ``AttemptState/recordAuthor``.
    public var author: String?

    public init(
      jobID: String, json: [UInt8], timeToLive: Duration, onlyIfAbsent: Bool = false, author: String? = nil
    ) {
      self.jobID = jobID
      self.json = json
      self.timeToLive = timeToLive
      self.onlyIfAbsent = onlyIfAbsent
      self.author = author
    }
  }

  /// One record, for each reader that there is.
  public struct Notification: Sendable, Equatable {
    public var readers: [NotificationReader]
    public var json: [UInt8]

    public init(readers: [NotificationReader], json: [UInt8]) {
      self.readers = readers
      self.json = json
    }
  }

  public init(_ verb: Verb, record: Record? = nil, replyTo: String? = nil, notifications: [Notification] = []) {
    self.verb = verb
    self.record = record
    self.replyTo = replyTo
    self.notifications = notifications
  }

  /// Acknowledges, with at most a plain record: many of these leave in one script.
  var isPlain: Bool {
    verb == .acknowledge && replyTo == nil && notifications.isEmpty && record?.onlyIfAbsent != true
  }
}
