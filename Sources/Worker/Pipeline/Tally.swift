import Jobs

/// What the pushes of a job, or of one page of a broadcast, have come to.
struct Tally {
  static let unsupportedPlatform = "UnsupportedPlatform"

  var result: JobResult
  /// Devices to try again.
  var open: [String] = []
  /// Of a job at most once: written, and no answer came; sent again only when an operator says so.
  var uncertain: [String] = []
  /// Of the open ones: the last reason heard, the longest wait asked for, and whether nothing but the gateway or the
  /// configuration is at fault.
  var openReason: String?
  var wait = Duration.zero
  var isFault = true
  /// The job itself was refused.
  var badJobReason: String?

  private let isAtMostOnce: Bool

  init(result: JobResult, isAtMostOnce: Bool = false) {
    self.result = result
    self.isAtMostOnce = isAtMostOnce
  }

  mutating func record(_ disposition: PushOutcome, token: String, status: Int, apnsID: String, reason: String?) {
    var outcome = DeviceOutcome.failed
    switch disposition {
    case .open(let after, let isFault):
      leaveOpen(token, reason: reason, after: after, isFault: isFault)
      return
    case .badJob: badJobReason = badJobReason ?? reason
    case .uncertain:
      if isAtMostOnce {
        uncertain.append(token)
      } else {
        leaveOpen(token, reason: reason, after: .zero, isFault: false)
      }
      outcome = .uncertain
    case .accepted: outcome = .accepted
    case .stale: outcome = .stale
    case .failed: break
    }
    result.add(
      DeviceResult(token: token, ok: outcome == .accepted, status: status, apnsID: apnsID, reason: reason), as: outcome)
  }

  /// Devices that are kept and listed, but not APNs' to reach.
  mutating func recordUnsupported(_ tokens: [String]) {
    for token in tokens {
      record(.failed, token: token, status: 0, apnsID: "", reason: Tally.unsupportedPlatform)
    }
  }

  mutating func leaveOpen(_ token: String, reason: String?, after: Duration, isFault: Bool) {
    open.append(token)
    openReason = reason
    wait = max(wait, after)
    self.isFault = self.isFault && isFault
  }

  mutating func merge(_ other: Tally) {
    result.absorb(other.result)
    open.append(contentsOf: other.open)
    uncertain.append(contentsOf: other.uncertain)
    openReason = other.openReason ?? openReason
    wait = max(wait, other.wait)
    isFault = isFault && other.isFault
    badJobReason = badJobReason ?? other.badJobReason
  }
}
