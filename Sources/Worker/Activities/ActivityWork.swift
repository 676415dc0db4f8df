import Activities
import Jobs
import Queue
import Registry

/// What an attempt at a job to a Live Activity knows of it. Nil for all other jobs.
final class ActivityWork {
  let id: String
  /// The nonce under which the activity's state has the job.
  let nonce: String
  /// The timestamp that is sent, in unix seconds.
  let timestamp: Int64
  /// Update tokens that have the state already.
  var reached: Set<String> = []
  /// Users who have newer states of their own.
  var others: Set<String> = []
  /// The state that a token lacks; nil for a job that brings one.
  var newest: ActivityState.Newest?
  /// Of the tokens that APNs has accepted in this attempt.
  var accepted: [String] = []
  /// Of a start: the devices that did not get it, so that another start may be sent to them.
  var refused: [String] = []

  let isStart: Bool
  /// The channel that updates the activity which is started; nil if it gets a token.
  var channel: Channel?

  init(id: String, nonce: String, timestamp: Int64, isStart: Bool = false) {
    self.id = id
    self.nonce = nonce
    self.timestamp = timestamp
    self.isStart = isStart
  }
}

extension Delivery {
  /// The job as the activity's state knows it; nil unless it starts, updates or ends one.
  func activityJob(queue: String) -> ActivityJob? {
    guard case .activity(let activity, let notification) = job.content else { return nil }
    let nonce = claim.envelope.nonce ?? ""
    let first = FirstClaim(nonce: nonce)
    let enqueuedAt = job.enqueuedAt ?? first?.at ?? claim.claimedAt
    return ActivityJob(
      id: id, nonce: nonce, queue: queue, user: username,
      order: ActivityOrder(
        timestamp: activity.timestamp ?? enqueuedAt / 1000, enqueuedAt: enqueuedAt, sequence: first?.sequence ?? ""),
      activity, notification, priority: job.priority, expiresAt: state.expiresAt)
  }
}

extension ActivityWork {
  /// A push to the device has ended.
  func note(_ device: Device, _ outcome: PushOutcome) {
    switch outcome {
    case .accepted: accepted.append(ActivityState.key(ofToken: device.token))
    case .stale, .failed, .badJob: refused.append(ActivityState.key(ofToken: device.token, phone: device.deviceID))
    case .open, .uncertain: break
    }
  }
}
