/// What an operator of the dashboard may do. Each role may do what those before it may.
public enum OperatorRole: String, Sendable, CaseIterable, Comparable {
  /// Reads.
  case viewer
  /// Pauses, cancels, retries, requeues, drains, sends test pushes, and sees payloads.
  case `operator`
  /// Purges, removes devices, revokes credentials, and sees whole tokens.
  case admin

  public static func < (left: OperatorRole, right: OperatorRole) -> Bool {
    allCases.prefix { $0 != right }.contains(left)
  }
}
