package import EventLoop
package import Jobs
package import PushModel
package import Registry

/// What a job sends. Most jobs are their own content; a gate may give a job another.
@EventLoop
package protocol SentContent: AnyObject {
  /// The payload for an environment, or without what is of one. Throws if it is too large for APNs.
  func payload(in environment: PushEnvironment?) throws(JobError) -> [UInt8]
  /// Whether the payload differs by environment.
  var isOfEnvironment: Bool { get }
  /// Nil for the header's default.
  var priority: Int? { get }
  /// Unix seconds, for the header; 0 asks APNs not to store the push.
  var expiration: Int64? { get }
  /// Whether it goes to a channel, and not to devices.
  var isBroadcast: Bool { get }
  /// The id of the job that has brought it.
  var jobID: String { get }
  /// A push of it has ended.
  func ended(_ device: Device, _ outcome: PushOutcome)
  /// The attempt has ended. `next` is called when that is known to whoever has to know.
  func left(as outcome: JobOutcome, then next: @escaping @EventLoop () -> Void)
}

extension SentContent {
  package var isOfEnvironment: Bool { false }
  package var isBroadcast: Bool { false }
  package func ended(_ device: Device, _ outcome: PushOutcome) {}
  package func left(as outcome: JobOutcome, then next: @escaping @EventLoop () -> Void) { next() }
}

extension Delivery: SentContent {
  package func payload(in environment: PushEnvironment?) throws(JobError) -> [UInt8] {
    try job.apnsPayload(terms, timestamp: 0)
  }

  package var priority: Int? { job.apnsPriority(terms) }

  package var expiration: Int64? {
    if job.expiration == 0 || job.ttl == 0 { return 0 }
    return state.expiresAt.map { $0 / 1000 }
  }

  package var jobID: String { id }
}
