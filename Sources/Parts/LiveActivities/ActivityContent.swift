import EventLoop
import Jobs
import PushModel
import Queue
import Registry
import Worker

/// What an attempt sends to a Live Activity, and what it tells the activity's state when it ends.
@EventLoop
final class ActivityContent: SentContent {
  enum Kind {
    /// `channel` updates the activity that is started; nil if it gets a token.
    case start(channel: Channel?)
    /// The newest state, which is the job's own, and whose it is. `others`: users who have newer states of their own.
    case state(ActivityState.Newest, ActivityAudience, others: Set<Username>)
    /// To tokens that the producer keeps itself: there is no state.
    case tokens
    /// The state that a token lacks, of another job.
    case newest(ActivityState.Newest)
  }

  let kind: Kind
  /// Of the activity.
  let id: String
  /// The attempt holds its content.
  private unowned let delivery: Delivery
  /// Unix seconds.
  private let timestamp: Int64
  private let activities: Activities
  /// Tokens for which APNs has accepted the state in this attempt, each with its phone.
  private var accepted: [String] = []
  /// Phones that did not get a start, so that another one may be sent to them.
  private var refused: [String] = []

  init(_ delivery: Delivery, _ kind: Kind, of id: String, timestamp: Int64, _ activities: Activities) {
    self.delivery = delivery
    self.kind = kind
    self.id = id
    self.timestamp = timestamp
    self.activities = activities
  }

  private var newest: ActivityState.Newest? { if case .newest(let newest) = kind { newest } else { nil } }

  private var channel: Channel? { if case .start(let channel) = kind { channel } else { nil } }

  // MARK: - Content

  func payload(in environment: PushEnvironment?) throws(JobError) -> [UInt8] {
    if let newest { return newest.payload }
    let id = environment.flatMap { channel?.ids[$0] }
    return try delivery.job.apnsPayload(delivery.terms, timestamp: timestamp, channel: id)
  }

  var isOfEnvironment: Bool { channel != nil }

  var priority: Int? { newest?.priority ?? delivery.priority }

  var expiration: Int64? {
    guard let newest else { return delivery.expiration }
    return newest.expiresAt.map { $0 / 1000 }
  }

  var jobID: String { newest?.jobID ?? delivery.jobID }

  // MARK: - Ended

  func ended(_ device: Device, _ outcome: PushOutcome) {
    let key = device.inActivity
    switch outcome {
    case .accepted: accepted += [key.token, key.phone]
    case .stale, .failed, .badJob: refused.append(key.phone)
    case .open, .uncertain: break
    }
  }

  func left(as outcome: JobOutcome, then next: @escaping @EventLoop () -> Void) {
    guard let report = report(outcome) else { return next() }
    // Without the report a token may get the state twice, or late.
    activities.ask(id, report) { _ in next() }
  }

  private func report(_ outcome: JobOutcome) -> ActivityRequest? {
    let (nonce, turn) = (delivery.nonce, delivery.turn)
    switch kind {
    case .tokens: return nil
    case .start: return refused.isEmpty ? nil : .giveBack(nonce: nonce, turn: turn, phones: refused)
    case .state, .newest:
      guard outcome.status.isFinal else { return .pause(nonce: nonce, turn: turn) }
      return newest.map { .settleRefresh(nonce: nonce, turn: turn, of: $0.nonce, reached: accepted) }
        ?? .settle(nonce: nonce, turn: turn, reached: accepted)
    }
  }
}

extension Device {
  /// The device in the state of a Live Activity.
  var inActivity: ActivityDevice { ActivityDevice(token: token, phone: deviceID, user: username) }
}
