import Jobs
import Operations

@testable import PushModel
@testable import Queue

/// An element of a queue, as any producer can write it.
enum JobInput {
  private static let maximumReasonBytes = 512
  private static let priorities = [1, 5, 10]

  static func check(_ bytes: [UInt8]) throws(Violation) {
    let envelope = Envelope(element: bytes)
    try require(Envelope(element: envelope.element) == envelope, "an envelope differs after it was written and read")
    let state = AttemptState(json: envelope.state)
    try require(AttemptState(json: state.json()) == state, "a state differs after it was written and read")
    if let report = WorkerReport(json: bytes) { try JSONText.requireValid(report.json(), "a worker's report") }
    try JSONText.requireStable(bytes)
    try checkJob(envelope.job)
  }

  private static func checkJob(_ bytes: [UInt8]) throws(Violation) {
    if let id = Job.salvagedID(from: bytes) { try require(isID(id), "an invalid job has the id \(id)") }
    let result = Result { () throws(JobError) in try Job(parsing: bytes) }
    for format in PartsInput.queueFormats { try checkElement(bytes, format) }
    let again = Result { () throws(JobError) in try Job(parsing: bytes) }
    try require(result == again, "a job is read in two ways")
    switch result {
    case .failure(let error): try requireShort(error.reason, maximumReasonBytes, "the reason of a refusal")
    case .success(let job):
      try JSONText.requireValid(bytes, "a job")
      try checkAccepted(job)
    }
  }

  /// An element of a queue with a format.
  private static func checkElement(_ bytes: [UInt8], _ format: QueueFormat) throws(Violation) {
    let accepted: Job
    do throws(JobError) {
      accepted = try Job(parsing: bytes, as: format)
    } catch {
      return try requireShort(error.reason, maximumReasonBytes, "the reason of a refusal")
    }
    try JSONText.requireValid(bytes, "an element with a job")
    try checkAccepted(accepted)
  }

  private static func checkAccepted(_ job: Job) throws(Violation) {
    if let id = job.id { try require(isID(id), "a job has the id \(id)") }
    try require(priorities.contains(job.priority), "a job has the priority \(job.priority)")
    try require(job.pushType != .background || job.priority == 5, "a background push has the priority \(job.priority)")
    try require(job.ttl == nil || job.expiration == nil, "a job has ttl and expiration")
    try require((job.collapseID?.utf8.count ?? 1) <= 64, "a collapse id has more than 64 bytes")
    for token in tokens(of: job.addressee) {
      try require(DeviceToken.isWellFormed(token), "a job has the token \(token)")
    }
    let payload: [UInt8]
    do throws(JobError) {
      payload = try job.apnsPayload(try job.terms(in: PartsInput.classes))
    } catch {
      return try requireShort(error.reason, maximumReasonBytes, "the reason of a refusal")
    }
    try JSONText.requireValid(payload, "a payload")
    try require(payload.count <= job.pushType.maximumPayloadBytes, "a payload has \(payload.count) bytes")
  }

  private static func tokens(of addressee: Addressee) -> [String] {
    switch addressee {
    case .token(let token), .userToken(_, let token), .activityToken(_, let token): [token.text]
    case .tokens(let tokens): tokens.map(\.text)
    case .user, .instance, .app, .activity, .channel: []
    }
  }

  private static func isID(_ text: String) -> Bool { Charset("._:-", length: 1...128).accepts(text) }
}
