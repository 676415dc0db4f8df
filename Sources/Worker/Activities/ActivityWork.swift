import Activities
import Jobs
import Queue
import Registry

/// What an attempt at a job to a Live Activity knows of it. Nil for all other jobs.
final class ActivityWork {
  let id: String
  /// The nonce of the job's envelope.
  let nonce: String
  /// The timestamp that is sent, in unix seconds.
  let timestamp: Int64
  /// The newest state, if it is the job's own, and whose it is.
  var announced: (state: ActivityState.Newest, audience: ActivityAudience)?
  /// Users who have newer states of their own.
  var others: Set<String> = []
  /// The state that a token lacks; nil for a job that brings one.
  var newest: ActivityState.Newest?
  /// Of the tokens for which APNs has accepted the state in this attempt, each with its phone.
  var accepted: [String] = []
  /// Of a start: the phones that did not get it, so that another start may be sent to them.
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
    let enqueuedAt = job.enqueued ?? first?.at ?? claim.claimedAt
    return ActivityJob(
      id: id, nonce: nonce, turn: turn, queue: queue, user: username,
      order: ActivityOrder(
        timestamp: activity.timestamp ?? enqueuedAt / 1000, enqueuedAt: enqueuedAt, sequence: first?.sequence ?? ""),
      activity, notification, priority: job.priority, expiresAt: state.expiresAt)
  }
}

extension ActivityWork {
  /// A push to the device has ended.
  func note(_ device: Device, _ outcome: PushOutcome) {
    let key = device.inActivity
    switch outcome {
    case .accepted: accepted += [key.token, key.phone]
    case .stale, .failed, .badJob: refused.append(key.phone)
    case .open, .uncertain: break
    }
  }
}

extension Device {
  /// The device in the state of a Live Activity.
  var inActivity: ActivityDevice { ActivityDevice(token: token, phone: deviceID, user: username) }
}
