/// What an operator of the dashboard may do. Each role may do what those before it may.
public enum OperatorRole: String, Sendable, CaseIterable, Comparable {
  /// Reads.
  case viewer
  /// Pauses, cancels, retries, requeues, drains, sends test pushes, and sees payloads.
  case `operator`
  /// Purges, removes devices, revokes credentials, and sees whole tokens.
  case admin

  private var rank: Int {
    switch self {
    case .viewer: 0
    case .operator: 1
    case .admin: 2
    }
  }

  public static func < (left: OperatorRole, right: OperatorRole) -> Bool { left.rank < right.rank }
}
