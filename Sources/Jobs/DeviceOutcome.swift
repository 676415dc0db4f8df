/// How a push counts in a job's result.
public enum DeviceOutcome: Sendable {
  case accepted
  /// Refused for good.
  case failed
  /// Refused for good because the token is; counts as failed too.
  case stale
  /// Written, never answered: it may have arrived.
  case uncertain
}
