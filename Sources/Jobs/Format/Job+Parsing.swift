import JSON

extension Job {
  /// Reads a job's JSON and checks every rule of docs/job.schema.json.
  public init(parsing bytes: [UInt8]) throws(JobError) {
    guard bytes.count <= Job.maximumBytes else { throw JobError(reason: "larger than \(Job.maximumBytes) bytes") }
    var reader = JobReader(bytes)
    var draft = JobDraft()
    try draft.read(from: &reader)
    try reader.end()
    self = try draft.job()
  }

  /// The `id` of bytes that are no job, if it can be told: so that their producer finds what became of them.
  public static func salvagedID(from bytes: [UInt8]) -> String? {
    guard bytes.count <= Job.maximumBytes else { return nil }
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
