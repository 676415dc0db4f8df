public import Events
public import Jobs

extension EventCounts {
  public init(_ result: JobResult) {
    self.init(
      accepted: result.accepted, failed: result.failed, stale: result.stale, uncertain: result.uncertain,
      reasons: result.reasons.map { ($0.reason, $0.count) })
  }
}
