import APNs

/// What the outcome of one push means for its device.
enum PushOutcome: Equatable {
  case accepted
  /// No retry would help; the token stays.
  case failed
  /// The token is to be removed, unless it was registered anew after `unregisteredSince` (unix ms; nil: not told).
  case stale(unregisteredSince: Int64?)
  /// Not sent, or refused for now. `isFault`: the gateway or the configuration is at fault, not the device, so it does not
  /// count as an attempt.
  case open(after: Duration, isFault: Bool)
  /// Written, and no answer: it may have arrived. Sent again under the same apns-id, unless the job is at most once.
  case uncertain
  /// The job itself is wrong for every device.
  case badJob
}

extension PushOutcome {
  /// A gateway out of reach is tried again after this long, and up to as long again: what waits does not come back at once.
  static let faultDelay = Duration.seconds(5)
  /// What waits for a paused route comes back so long after its next probe at most: by then the probe is answered.
  static let probeSpread = Duration.seconds(15)

  /// How long to put off what is not its own fault. `untilProbe`: nil when the route is not paused; `random` from 0..<1.
  static func faultDelay(untilProbe: Duration?, random: Double) -> Duration {
    guard let untilProbe else { return faultDelay + faultDelay * random }
    return untilProbe + probeSpread * random
  }

  init(_ outcome: SendOutcome, removalAllowed: Bool) {
    switch outcome {
    case .notProcessed: self = .open(after: PushOutcome.faultDelay, isFault: true)
    case .uncertain: self = .uncertain
    case .answered(let answer):
      switch AnswerMeaning(answer) {
      case .accepted: self = .accepted
      case .staleToken(let since): self = removalAllowed ? .stale(unregisteredSince: since) : .failed
      case .badJob: self = .badJob
      case .retryLater(let after): self = .open(after: after.map { .seconds($0) } ?? .zero, isFault: false)
      case .deviceThrottled(let after): self = .open(after: after.map { .seconds($0) } ?? .zero, isFault: false)
      case .providerRefused, .topicRefused, .tooManyProviderTokens, .newConnection:
        self = .open(after: PushOutcome.faultDelay, isFault: true)
      case .failed, .ourBug: self = .failed
      }
    }
  }
}
