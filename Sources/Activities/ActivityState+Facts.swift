/// What explanations tell of an activity beside its states.
extension ActivityState {
  /// The job that started the activity first; nil if none is known.
  public var firstStarter: String? { firstStart?.jobID }

  /// The name of the channel that updates the activity, which has no update token then; nil if it gets tokens, or none is known.
  public var channel: String? { firstStart?.channel }

  /// How many updates and ends there were in the last minute. `now` is in unix ms.
  public func recentUpdates(now: Int64) -> Int { updates.count { $0 > now / 1000 - ActivityState.budgetTime } }

  /// Whether APNs may have left some of them out.
  public func isTooOften(now: Int64) -> Bool { recentUpdates(now: now) > ActivityState.budget }
}

extension ActivityState.Newest {
  /// How many tokens APNs accepted the state for.
  public var reachedTokens: Int { reached.count { !ActivityDevice.isPhone($0) } }
}
