package import APNs
package import Jobs
package import PushModel

/// The outcome of one push for its device.
package enum PushOutcome: Equatable {
  case accepted
  /// No retry would help; the token stays registered.
  case failed
  /// The token is removed unless it was registered again after `unregisteredSince`: Unix ms, nil if APNs gave no time.
  case stale(unregisteredSince: Int64?)
  /// Not sent, or refused for now. `isFault`: the gateway or the configuration is at fault and not the device, so it does
  /// not count as an attempt.
  case open(after: Duration, isFault: Bool)
  /// Written without an answer: it may have arrived. Sent again under the same apns-id, unless the job is at most once.
  case uncertain
  /// The job is invalid for every device.
  case badJob
}

extension PushOutcome {
  /// After a fault a job waits this long, or a quarter of the outage so far, and up to twice as long: during a long outage
  /// jobs are looked at rarely, and they are not retried all at once.
  package static let faultDelay = Duration.seconds(5)
  package static let maximumFaultDelay = Duration.seconds(60)
  package static let outageDivisor = 4
  /// Jobs for a paused route are retried at most this long after its next probe, which is then answered.
  package static let probeSpread = Duration.seconds(15)

  /// How long to wait after a fault. `untilProbe` is nil unless the route is paused; `outage` is how long the gateway has
  /// been unavailable; `untilExpiration` is nil for a job that does not expire; `random` is from 0..<1.
  package static func faultDelay(
    untilProbe: Duration?, outage: Duration = .zero, untilExpiration: Duration? = nil, random: Double
  ) -> Duration {
    if let untilProbe { return untilProbe + probeSpread * random }
    // A job that would be due after its expiration is given up now, although the outage may end before.
    let longest = untilExpiration.map { min($0 / 2, maximumFaultDelay) } ?? maximumFaultDelay
    let delay = max(faultDelay, min(outage / outageDivisor, longest))
    return delay + delay * random
  }

  package init(_ sent: SendOutcome, removalAllowed: Bool) {
    switch sent {
    case .notProcessed: self = .open(after: PushOutcome.faultDelay, isFault: true)
    case .uncertain: self = .uncertain
    case .answered(let answer):
      switch answer.meaning {
      case .accepted: self = .accepted
      case .staleToken(let since): self = removalAllowed ? .stale(unregisteredSince: since) : .failed
      case .badJob: self = .badJob
      case .retryLater(let after): self = .open(after: after.map { .seconds($0) } ?? .zero, isFault: false)
      case .deviceThrottled(let after): self = .open(after: after.map { .seconds($0) } ?? .zero, isFault: false)
      case .forbidden: self = .open(after: .zero, isFault: false)
      case .providerRefused, .topicRefused, .tooManyProviderTokens, .newConnection:
        self = .open(after: PushOutcome.faultDelay, isFault: true)
      case .failed, .ourBug: self = .failed
      }
    }
  }
}

/// How one push ended, as the tally counts it.
package struct EndedPush: Equatable {
  package let outcome: PushOutcome
  package let result: DeviceResult

  package init(token: DeviceToken, apnsID: String = "", outcome: PushOutcome, status: Int = 0, reason: String? = nil) {
    self.outcome = outcome
    result = DeviceResult(
      token: token, ok: outcome == .accepted, status: status, apnsID: apnsID, reason: reason)
  }

  package init(token: DeviceToken, apnsID: String, outcome: PushOutcome, sent: SendOutcome) {
    self.outcome = outcome
    result = DeviceResult(
      token: token, ok: outcome == .accepted, status: sent.status, apnsID: sent.isOurRefusal ? "" : apnsID,
      reason: sent.reason,
      uniqueID: sent.uniqueID)
  }
}

extension SendOutcome {
  package var isAccepted: Bool { if case .answered(let answer) = self { answer.isAccepted } else { false } }

  /// Whether the push is invalid, and was never sent.
  package var isOurRefusal: Bool { if case .answered(let answer) = self { !answer.isOfAPNs } else { false } }

  /// HTTP status; 0 if APNs did not answer.
  package var status: Int {
    if case .answered(let answer) = self { answer.status } else { 0 }
  }

  /// `apns-unique-id` of the answer.
  package var uniqueID: String? {
    if case .answered(let answer) = self { answer.apnsUniqueID } else { nil }
  }

  /// Nil if the push was accepted.
  package var reason: String? {
    switch self {
    case .answered(let answer): answer.reason
    case .notProcessed(let why): why
    case .uncertain(let why): "Uncertain: \(why)"
    }
  }
}
