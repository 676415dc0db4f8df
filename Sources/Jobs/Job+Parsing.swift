import PushModel
import JSON

extension Job {
  /// Reads a job's JSON and checks every rule of docs/job.schema.json.
  public init(parsing bytes: [UInt8]) throws(JobError) {
    guard bytes.count <= Job.maximumBytes else { throw JobError(reason: Job.tooLarge) }
    var reader = JobReader(bytes)
    var draft = JobDraft()
    try draft.read(from: &reader)
    try reader.end()
    self = try draft.job()
  }

  /// Refuses a reply to a queue: records would come back as jobs.
  public func refuseReply(to queues: some Collection<String>) throws(JobError) {
    guard let replyTo, queues.contains(replyTo) else { return }
    throw JobError(reason: "replyTo: \(replyTo) is a queue of this fleet; name another list")
  }

  /// Why a job of more than ``maximumBytes`` is refused.
  public static let tooLarge = "larger than \(maximumBytes) bytes"
  /// Where the id of a job that is too large is looked for.
  private static let salvageBytes = 900

  /// The `id` of bytes that are no job, if it can be told: so that their producer finds what became of them.
  public static func salvagedID(from bytes: [UInt8]) -> String? {
    if bytes.count > Job.maximumBytes { return salvagedID(fromBeginning: bytes) }
    return firstID(in: bytes)
  }

  /// The `id` of a job of which only the beginning is looked at.
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
      // No JSON: the reason for the refusal says so already.
    }
    return nil
  }
}
