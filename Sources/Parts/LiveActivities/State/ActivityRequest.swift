import Jobs
import PushModel

/// A job that starts, updates or ends a Live Activity.
struct ActivityJob: Sendable, Equatable {
  let id: String
  /// The nonce of the job's envelope: the same at every attempt.
  let nonce: String
  let turn: AttemptTurn
  let queue: String
  /// The user whose devices it is for; nil for all.
  let user: Username?
  let order: ActivityOrder
  let activity: LiveActivity
  let notification: Notification
  let priority: Int
  /// Unix milliseconds.
  let expiresAt: Int64?

  init(
    id: String, nonce: String, turn: AttemptTurn = AttemptTurn(), queue: String, user: Username?, order: ActivityOrder,
    _ activity: LiveActivity,
    _ notification: Notification, priority: Int, expiresAt: Int64?
  ) {
    self.id = id
    self.nonce = nonce
    self.turn = turn
    self.queue = queue
    self.user = user
    self.order = order
    self.activity = activity
    self.notification = notification
    self.priority = priority
    self.expiresAt = expiresAt
  }
}

/// What a worker asks, or says, about a Live Activity. `nonce` and `turn` are those of the attempt that asks: what it says after a
/// later attempt has begun changes nothing but what APNs has accepted.
enum ActivityRequest: Sendable, Equatable {
  /// Asks whether an update or an end is the newest state.
  case announce(ActivityJob)
  /// Asks on which of the devices a start may start the activity.
  case start(ActivityJob, devices: [ActivityDevice])
  /// The job found no token to send its state to.
  case wait(nonce: String, turn: AttemptTurn)
  /// An attempt of the job has ended, and there will be another: nothing of it is in flight.
  case pause(nonce: String, turn: AttemptTurn)
  /// The job has ended. APNs accepted its state for these tokens and phones.
  case settle(nonce: String, turn: AttemptTurn, reached: [String])
  /// APNs has refused a start for these phones.
  case giveBack(nonce: String, turn: AttemptTurn, phones: [String])
  /// Asks for the state that a device has not got.
  case refresh(ActivityDevice, nonce: String, turn: AttemptTurn)
  /// The job, which sent a state to one token, has ended. APNs accepted the state, that of the job `of`, for this token and phone.
  case settleRefresh(nonce: String, turn: AttemptTurn, of: String, reached: [String])
}

/// The answer to an ``ActivityRequest``.
enum ActivityAnswer: Sendable, Equatable {
  /// The state is the newest. It is not sent to users in `others`, who have newer states of their own. `former` is a job that has
  /// waited for a token in vain. `isTooOften`: APNs may leave updates out.
  case send(ActivityState.Newest, to: ActivityAudience, others: Set<Username>, former: WaitingJob?, isTooOften: Bool)
  /// The activity may be started on these phones.
  case start(timestamp: Int64, phones: Set<String>)
  /// Another job has started the activity on all devices.
  case duplicate
  /// Another job has brought a newer state, or an end.
  case superseded(by: String)
  case tooManyStarts
  /// The state that a token should get.
  case newest(ActivityState.Newest)
  /// The job of the newest state may still send it: ask again.
  case later
  /// The job of the newest state waits for the token.
  case wake(WaitingJob)
  /// Nothing is to be done.
  case done
}

/// A scheduled job that waits for a token.
struct WaitingJob: Sendable, Equatable {
  let id: String
  let queue: String
}
