import Jobs
import JSON
import PushModel

/// An element that Sidekiq's client writes: `{"class":…,"args":[job],"jid":…}`. The name of the class is not judged.
struct SidekiqElement: FormattedElement {
  private static let shape = "args: expected one object, the job"

  private var args: [UInt8]?
  private(set) var id: String?

  var isRecognized: Bool { args != nil }

  /// Returns nil for a job alone, which has `to` and no `args`.
  init?(_ bytes: [UInt8]) throws(JobError) {
    var reader = JobReader(bytes)
    try reader.beginObject()
    while let key = try reader.anyKey() {
      switch key {
      case "to" where args == nil: return nil
      case "args":
        guard args == nil else { throw JobError(reason: "args: duplicate key") }
        guard try reader.kind() == .array else { throw JobError(reason: SidekiqElement.shape) }
        args = try reader.text()
      case "jid":
        reader.field = key
        id = try reader.identifier(Charset.id)
      default: try reader.skip()
      }
    }
    reader.field = ""
    try reader.end()
  }

  func wrappedJob() throws(JobError) -> WrappedJob {
    guard let args else { throw JobError(reason: "args: missing; expected an element of Sidekiq, or a job with to") }
    guard let job = try WrappedJob.onlyElement(of: args, SidekiqElement.shape) else {
      throw JobError(reason: SidekiqElement.shape)
    }
    return WrappedJob(json: job, id: id)
  }
}
