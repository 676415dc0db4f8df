import PushModel
import JSON

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
