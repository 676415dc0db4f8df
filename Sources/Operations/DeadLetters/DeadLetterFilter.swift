import Jobs
import Queue
import JSON

/// Which dead letters are shown, or acted on.
public struct DeadLetterFilter: Sendable, Equatable {
  /// The id of the job.
  public var id: String?
  /// A text that the reason contains.
  public var reason: String?
  /// The bundle id that the job names: `app`, or that of its audience.
  public var app: String?
  /// Unix ms: only letters from then on.
  public var since: Int64?
  /// Unix ms: only letters up to then.
  public var until: Int64?

  public init(id: String? = nil, reason: String? = nil, app: String? = nil, since: Int64? = nil, until: Int64? = nil) {
    self.id = id
    self.reason = reason
    self.app = app
    self.since = since
    self.until = until
  }

  public var isEmpty: Bool { self == DeadLetterFilter() }

  func includes(_ letter: DeadLetter) -> Bool {
    (id == nil || id == letter.id) && includes(reason: letter.reason, at: letter.at, job: letter.envelope.job)
  }

  func includes(_ job: BrowsedJob) -> Bool {
    guard let burial = job.burial else { return reason == nil && app == nil }
    return includes(reason: burial.reason, at: job.position?.milliseconds ?? burial.at, job: job.job)
  }

  private func includes(reason found: String, at: Int64, job: [UInt8]) -> Bool {
    if let reason, !found.contains(reason) { return false }
    if let app, JobSummary(job: job).app != app { return false }
    return at >= since ?? .min && at <= until ?? .max
  }

  /// Where letters are read from: ``until``, or nil for the newest letter.
  var start: SortedPosition? { until.map { SortedPosition(score: $0) } }

  /// What each letter contains that is included, and few others: the reason as JSON writes it, and the bundle id.
  var needles: (first: [UInt8], second: [UInt8]) {
    var writer = JSONWriter()
    writer.string(reason ?? "")
    return (Array(writer.bytes.dropFirst().dropLast()), app.map { Array("\"\($0)\"".utf8) } ?? [])
  }
}
