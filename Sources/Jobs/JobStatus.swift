/// What became of a job.
public enum JobStatus: String, Sendable, CaseIterable {
  /// Every push was accepted by APNs.
  case accepted
  case partial
  case failed
  /// By a delivery policy; the record's `reason` says by which rule.
  case suppressed
  /// Held for later by a delivery policy.
  case deferred
  case duplicate
  case expired
  /// Polling-only mode: there is no APNs to send to.
  case unsent
  case retrying
  case dead
  case noDevices = "no_devices"
}
