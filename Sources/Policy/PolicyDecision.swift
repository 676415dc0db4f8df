/// What a policy says of a job now.
public enum PolicyDecision: Sendable, Equatable {
  case send
  case suppress(SuppressionReason)
  /// Not before this time, unix ms: it is decided again then.
  case deferUntil(Int64)
}
