/// The status of a job, as its record has it.
public enum JobStatus: String, Sendable, CaseIterable {
  /// Every push was accepted by APNs.
  case accepted
  case partial
  case failed
  /// Not sent because of a delivery policy; the record's `reason` names the rule.
  case suppressed
  /// Scheduled for later by a delivery policy.
  case deferred
  case duplicate
  case expired
  /// Not sent because APNs is not configured: polling-only mode.
  case unsent
  case retrying
  case dead
  case noDevices = "no_devices"
  /// Not sent, or not sent further, because an operator has cancelled it.
  case cancelled
  /// Not sent because another job has brought a newer state of the Live Activity.
  case superseded

  /// Whether the job has ended.
  public var isFinal: Bool {
    switch self {
    case .retrying, .deferred: false
    case .accepted, .partial, .failed, .suppressed, .duplicate, .expired, .unsent, .dead, .noDevices,
      .cancelled, .superseded:
      true
    }
  }

  /// Whether the job ended without a push that its user should have got.
  public var leavesUserUnreached: Bool {
    switch self {
    case .unsent, .noDevices, .failed, .dead, .expired: true
    case .accepted, .partial, .retrying, .deferred, .suppressed, .duplicate, .cancelled, .superseded: false
    }
  }
}
