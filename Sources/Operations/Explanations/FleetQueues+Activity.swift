import Activities
import EventLoop
import Jobs
import PushModel
import Queue
public import Redis
public import Registry

/// Explains a Live Activity: its newest state, its update tokens, and what waits.
extension FleetQueues {
  /// Waiting jobs that are looked for, at most.
  private static let maximumWaits = 10

  /// Explains an activity by its id, which may be any text.
  public func explain(
    activity id: String, in registry: Registry, showsWholeTokens: Bool
  ) async throws(RedisError) -> ActivityExplanation {
    var facts = ActivityFacts(
      id: id, showsWholeTokens: showsWholeTokens, text: TimeText(now: Clock.unixMilliseconds))
    guard LiveActivity.isID(id) else { return ActivityExplanation(facts) }
    facts.state = try await Activities(connection: connection).state(id) ?? ActivityState()
    facts.devices = try await registry.activityDevices(id).sorted { $0.token < $1.token }
    let waiting = facts.states.map(\.newest).filter { $0.phase == .waiting }
    for newest in waiting.prefix(FleetQueues.maximumWaits) {
      facts.waits[newest.jobID] = try await wait(of: newest.jobID)
    }
    return ActivityExplanation(facts)
  }

  private func wait(of job: String) async throws(RedisError) -> ActivityFacts.Wait {
    let location = try await locate(job)
    guard location.isAlive, let envelope = location.envelope else { return ActivityFacts.Wait() }
    let state = AttemptState(json: envelope.state)
    return ActivityFacts.Wait(since: state.waitingSince, until: state.expiresAt)
  }
}
