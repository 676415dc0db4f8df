extension JobStatus {
  /// Whether the job is over.
  public var isFinal: Bool {
    switch self {
    case .retrying, .deferred: false
    case .accepted, .partial, .failed, .suppressed, .duplicate, .expired, .unsent, .dead, .noDevices: true
    }
  }

  /// Whether it ended without a push, though the user was meant to hear of it.
  public var leavesUserUnreached: Bool {
    switch self {
    case .unsent, .noDevices, .failed, .dead, .expired: true
    case .accepted, .partial, .retrying, .deferred, .suppressed, .duplicate: false
    }
  }
}
