import EventLoop
import Jobs
import PushModel
import Operations
import Queue

/// A device in a link, `?job=ID&device=DIGEST`: the token stands in the job or its record, and not in the address of the page,
/// which browsers and proxies keep.
struct JobDevice: Sendable {
  private static let jobItem = "job"
  private static let deviceItem = "device"

  let job: String
  /// See ``DeviceEntry/reference(to:)``.
  let reference: String

  init(_ token: DeviceToken, of job: String) {
    self.job = job
    reference = DeviceEntry.reference(to: token)
  }

  /// Returns nil if the request names no device of a job.
  init?(_ request: PageRequest) {
    guard let job = request.query(JobDevice.jobItem), let reference = request.query(JobDevice.deviceItem) else {
      return nil
    }
    self.job = job
    self.reference = reference
  }

  var query: [(String, String)] { [(JobDevice.jobItem, job), (JobDevice.deviceItem, reference)] }

  /// Reads the token from the job. Throws 404 if it is not found there.
  @EventLoop
  func token(_ context: DashboardContext) async throws(PageError) -> DeviceToken {
    let location = try await refusingFaults(await context.fleet.locate(job))
    let addressed = location.envelope.map { JobDevice.tokens(JobSummary(job: $0.job).addressee) } ?? []
    let recorded = location.record?.results.map(\.token) ?? []
    let token = (addressed + recorded).first { DeviceEntry.reference(to: $0) == reference }
    guard let token, DeviceToken.isWellFormed(token.text) else {
      throw .notFound("Job \(job) is not known any more, or it names no such device. Look up the user or the token.")
    }
    return token
  }

  private static func tokens(_ addressee: Addressee?) -> [DeviceToken] {
    switch addressee {
    case .token(let token), .userToken(_, let token), .activityToken(_, let token): [token]
    case .tokens(let tokens): tokens
    case .user, .instance, .app, .activity, .channel, nil: []
    }
  }
}
