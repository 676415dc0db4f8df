import PushModel
import APNs
import EventLoop
import Jobs

/// What all pushes of a job to one app and environment share.
@EventLoop
final class PushContent {
  let bundleID: String
  let topic: String
  let environment: PushEnvironment
  let pushType: PushType
  let priority: Int
  /// Unix seconds.
  let expiration: Int64?
  let collapseID: String?
  let payload: [UInt8]

  init(_ delivery: Delivery, payload: [UInt8], bundleID: String, environment: PushEnvironment) {
    let job = delivery.job
    pushType = job.pushType
    topic = pushType.topic(bundleID: bundleID)
    priority = job.priority
    expiration = delivery.expirationHeader
    collapseID = job.collapseID
    self.bundleID = bundleID
    self.environment = environment
    self.payload = payload
  }
}
