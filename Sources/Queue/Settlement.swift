import EventLoop
public import Events
import JSON
import Redis

/// How a job leaves the worker that has claimed it. The pipeline decides it; one script carries it out.
public enum JobExit: Sendable, Equatable {
  /// The job has ended.
  case acknowledge
  /// Runs the job again after `delay`. `reason`: why; nil if that is unknown.
  case retry(delay: Duration, countsAttempt: Bool = true, reason: String? = nil)
  /// Runs the job not before `at` (unix milliseconds).
  case schedule(at: Int64)
  /// Keeps a broadcast until an operator resumes it: schedules it without a date.
  case pause
  /// Moves the job to the dead letters.
  case bury(reason: String)
  /// Hands the job back to the front of its queue, as it was claimed. Nothing was sent for it.
  case handBack
}

/// How a job leaves and what it leaves behind. Written in one atomic step with the removal of the job from the in-flight list.
public struct Settlement: Sendable, Equatable {
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

  public var exit: JobExit
  /// What the job goes on as: the element of its next attempt, or its dead letter (``DeadLetter/bytes``). Empty if it ends or is
  /// handed back.
  public var element: [UInt8]
  /// When a dead letter was given up, in unix milliseconds.
  public var at: Int64
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
    guard case .acknowledge = exit, replyTo == nil, notifications.isEmpty, events.isEmpty else { return false }
    guard let record else { return true }
    guard record.author == nil, timeToLive == nil || timeToLive == record.timeToLive else { return false }
    timeToLive = record.timeToLive
    return true
  }
}

extension Settlement {
  public init(
    _ exit: JobExit, as element: [UInt8] = [], at: Int64 = 0, record: Record? = nil, replyTo: String? = nil,
    notifications: [Notification] = [], locator: Locator? = nil, events: [Event] = []
  ) {
    self.init(
      exit: exit, element: element, at: at, record: record, replyTo: replyTo, notifications: notifications,
      locator: locator, events: events)
  }
}

extension JobExit {
  /// The key that the job moves to; nil if the job ends.
  func target(_ keys: QueueKeys) -> String? {
    switch self {
    case .acknowledge: nil
    case .retry: keys.retry
    case .schedule, .pause: keys.scheduled
    case .bury: keys.dead
    case .handBack: keys.queue
    }
  }
}

// MARK: - Scripts

extension Settlement {
  /// The call of the script that ends the claim. `replyTo` and `events` are what this user of Redis may write of those of
  /// the settlement.
  @EventLoop
  func call(
    of claim: Claim, _ keys: QueueKeys, worker: String, _ mode: DeliveryMode, seal: String, replyTo: String?,
    events: [Event]
  ) -> RedisCall {
    let none = keys.inflight(worker)
    let move: Move
    switch exit {
    case .handBack:
      return QueueScripts.handBack(
        inflight: none, queue: keys.queue, mode: mode.rawValue, element: claim.element,
        sealed: Seal.prefix(seal) + claim.element)
    case .acknowledge:
      let left = Left(self, none: none, replyTo: replyTo, events: events)
      return QueueScripts.finish(
        inflight: none, record: left.record, reply: left.reply, stream: left.stream, readers: left.readers,
        mode: mode.rawValue, element: claim.element, json: left.json, ttl: left.ttl, author: left.author,
        notifications: left.notifications, events: left.events)
    case .retry(let delay, _, _):
      move = Move(place: .retry, delay: delay.milliseconds, replaces: locator?.replaces == true)
    case .schedule(let at):
      move = Move(
        place: .scheduled, score: String(at), replaces: locator != nil,
        isUnderProducersID: locator?.isProducers == true)
    case .pause:
      move = Move(
        place: .scheduled, score: String(QueueLimits.withoutDate), paused: locator?.jobID ?? "",
        replaces: locator != nil, isUnderProducersID: locator?.isProducers == true)
    case .bury:
      move = Move(place: .dead, score: String(at), most: String(QueueLimits.maximumDeadLetters))
    }
    let isDead = move.place == .dead
    let left = Left(self, none: none, replyTo: replyTo, events: events)
    return QueueScripts.move(
      inflight: none, target: exit.target(keys) ?? none, pauses: keys.pauses,
      due: locator.map { keys.due($0.jobID) } ?? none, replaced: move.replaces ? keys.scheduled : none,
      control: move.isUnderProducersID ? keys.control : none, record: left.record, reply: left.reply,
      stream: left.stream, readers: left.readers, mode: mode.rawValue, element: claim.element, moved: element,
      score: move.score, delay: move.delay, paused: move.paused, letter: move.place.rawValue,
      head: isDead ? DueLocator.head(ofLetter: locator?.jobID ?? "") : DueLocator.head(element),
      outlives: (isDead ? DueLocator.outlivesDeath : DueLocator.outlives).milliseconds, most: move.most,
      json: left.json, ttl: left.ttl, author: left.author, notifications: left.notifications, events: left.events)
  }

  /// The words of ``QueueScripts/move`` that differ by where the job goes.
  private struct Move {
    let place: DueLocator.Place
    /// Unix ms; empty if ``delay``, in ms, says when.
    var score = ""
    var delay: Int64 = 0
    /// The id of a paused broadcast, or empty.
    var paused = ""
    /// Whether it replaces the job that is scheduled under its id.
    var replaces = false
    /// Whether the control string has to say that jobs are scheduled under ids of producers.
    var isUnderProducersID = false
    /// Elements that the set keeps at most, or empty.
    var most = ""
  }

  /// The words of ``QueueScripts/leftKeys`` and ``QueueScripts/leftArguments``.
  private struct Left {
    let record: String
    let reply: String
    let stream: String
    let readers: RedisList
    let json: [UInt8]
    let ttl: Int64
    let author: String
    let notifications: [UInt8]
    let events: [UInt8]

    init(_ settlement: Settlement, none: String, replyTo: String?, events: [Event]) {
      record = settlement.record.flatMap { $0.isKept ? QueueKeys.result($0.jobID) : nil } ?? none
      reply = replyTo ?? none
      stream = events.isEmpty ? none : EventStream.key
      readers = RedisList(settlement.notifications.flatMap { $0.readers.flatMap(\.keys) })
      json = settlement.record?.json ?? []
      ttl = (settlement.record?.timeToLive ?? .zero).milliseconds
      author = settlement.record?.author ?? ""
      // A job to 1,000 devices has up to 1,000 readers with three keys each. With an argument for each name, too, the request
      // would exceed RequestLimits.maximumWords.
      notifications = JSONWriter.list(settlement.notifications) { notification, list in
        list.beginArray()
        list.string(String(decoding: notification.json, as: UTF8.self))
        list.raw(JSONWriter.list(notification.readers) { $1.string($0.name) })
        list.endArray()
      }
      self.events = JSONWriter.list(events) { $1.string(String(decoding: $0.json, as: UTF8.self)) }
    }
  }
}

extension JSONWriter {
  /// A JSON array of what `write` writes for each element.
  fileprivate static func list<T>(_ elements: [T], _ write: (T, inout JSONWriter) -> Void) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginArray()
    for element in elements { write(element, &writer) }
    writer.endArray()
    return writer.bytes
  }
}
