import EventLoop
public import Events
import JSON
import Redis

/// How a claim ends. Written in one atomic step with the removal of the job from the in-flight list.
public struct Settlement: Sendable, Equatable {
  public enum Verb: Sendable, Equatable {
    /// The job has ended.
    case acknowledge
    /// Runs the job again as `element`, after `delay`.
    case retry(element: [UInt8], delay: Duration)
    /// Runs the job as `element`, not before `at` (unix milliseconds).
    case schedule(element: [UInt8], at: Int64)
    /// Moves the job to the dead letters, as `letter` (``DeadLetter/bytes``), given up `at` (unix milliseconds).
    case bury(letter: [UInt8], at: Int64)
    /// Keeps a broadcast as `element` until an operator resumes it.
    case pause(element: [UInt8], field: String)
    /// Hands the job back to the front of its queue, as it was claimed. Nothing was sent for it.
    case handBack
  }

  /// The record of a job, for `push:result:<id>`.
  public struct Record: Sendable, Equatable {
    public var jobID: String
    public var json: [UInt8]
    public var timeToLive: Duration
    /// The author of the last record that the job itself wrote, ``AttemptState/recordAuthor``.
    public var author: String?

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
  public var events: [Event] = []
  /// Whether the job is a broadcast: an operator may have paused it.
  public var isOfBroadcast = false

  public init(_ verb: Verb, record: Record? = nil, replyTo: String? = nil, notifications: [Notification] = []) {
    self.verb = verb
    self.record = record
    self.replyTo = replyTo
    self.notifications = notifications
  }

  /// Whether there is more to write than the job itself.
  var hasRecords: Bool { record != nil || replyTo != nil || !notifications.isEmpty || !events.isEmpty }

  /// Whether this acknowledges, with at most a record: many of these are written by one script.
  var isPlain: Bool {
    guard case .acknowledge = verb else { return false }
    return replyTo == nil && notifications.isEmpty && events.isEmpty && !isOfBroadcast
  }

  /// Whether the pause of a broadcast ends with it.
  var endsBroadcast: Bool {
    switch verb {
    case .acknowledge, .bury: isOfBroadcast
    case .retry, .schedule, .pause, .handBack: false
    }
  }
}

// MARK: - Arguments of the script

extension Settlement.Verb {
  /// The key that the job moves to; nil if the job ends.
  func target(_ keys: QueueKeys) -> String? {
    switch self {
    case .acknowledge: nil
    case .retry: keys.retry
    case .schedule: keys.scheduled
    case .bury: keys.dead
    case .pause: keys.pausedJobs
    case .handBack: keys.queue
    }
  }

  /// Appends ARGV 3 to 6 of ``QueueScripts/settle``. `seal` is the queue's.
  @EventLoop
  func append(to command: inout RedisCommand, claimed: Claim, seal: String) {
    switch self {
    case .acknowledge: command.append(verb: "acknowledge", [], 0, "")
    case .retry(let element, let delay): command.append(verb: "retry", element, delay.milliseconds, "")
    case .schedule(let element, let at): command.append(verb: "schedule", element, at, "")
    case .bury(let letter, let at): command.append(verb: "bury", letter, at, "\(QueueLimits.maximumDeadLetters)")
    case .pause(let element, let field):
      command.append("pause" as StaticString)
      command.append(element)
      command.append(field)
      command.append(Seal.prefix(seal))
    case .handBack: command.append(verb: "handback", Seal.prefix(seal) + claimed.element, 0, "")
    }
  }
}

extension Settlement {
  /// KEYS 5 and 6 of ``QueueScripts/settle``; `none` stands for none.
  func controlKeys(_ keys: QueueKeys, none: String) -> [String] {
    if case .pause = verb { return [keys.queue, keys.held] }
    let control = endsBroadcast ? keys.control : none
    guard let locator, dueLocator != nil else { return [none, control] }
    switch verb {
    case .schedule where locator.isProducers: return [keys.due(locator.jobID), keys.control]
    case .retry where locator.replaces: return [keys.due(locator.jobID), keys.scheduled]
    default: return [keys.due(locator.jobID), control]
    }
  }

  /// The last KEYS of ``QueueScripts/settle``.
  func broadcastKeys(_ keys: QueueKeys) -> [String] { endsBroadcast ? [keys.held, keys.pausedJobs] : [] }

  /// ARGV 10 and 11 of ``QueueScripts/settle``.
  private var dueLocator: (head: [UInt8], outlives: Duration)? {
    guard let locator else { return nil }
    switch verb {
    case .retry(let element, _): return (DueLocator.head(.retry, element), DueLocator.outlives)
    case .schedule(let element, _): return (DueLocator.head(.scheduled, element), DueLocator.outlives)
    case .bury: return (DueLocator.head(ofLetter: locator.jobID), DueLocator.outlivesDeath)
    case .acknowledge, .handBack, .pause: return nil
    }
  }

  func appendLocator(to command: inout RedisCommand) {
    let due = dueLocator
    command.append(due?.head ?? [])
    command.append(due?.outlives.milliseconds ?? 0)
  }

  /// KEYS 7 and following of ``QueueScripts/settle``.
  var readerKeys: [String] { notifications.flatMap { $0.readers.flatMap(\.keys) } }

  /// Appends ARGV 12 and following of ``QueueScripts/settle``, with the readers in the order of their keys.
  ///
  /// A job to 1,000 devices has up to 1,000 readers with three keys each. With an argument for each name, too, the
  /// request would exceed ``RequestLimits/maximumWords``.
  @EventLoop
  func appendNotifications(to command: inout RedisCommand) {
    command.append(notifications.count)
    for notification in notifications {
      command.append(notification.json)
      var names = JSONWriter()
      names.beginArray()
      for reader in notification.readers { names.string(reader.name) }
      names.endArray()
      command.append(names.bytes)
    }
  }
}

extension RedisCommand {
  fileprivate mutating func append(verb: StaticString, _ element: [UInt8], _ score: Int64, _ most: String) {
    append(verb)
    append(element)
    append(score)
    append(most)
  }
}
