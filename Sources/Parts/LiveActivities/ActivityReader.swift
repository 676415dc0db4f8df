import EventLoop
import Jobs
import Operations
import PushModel
import Queue
import Redis
import Registry

/// Explains a Live Activity: its newest state, its update tokens, and what waits.
@EventLoop
enum ActivityReader {
  /// Waiting jobs that are looked for, at most.
  private nonisolated static let maximumWaits = 10

  /// Explains an activity by its id, which may be any text.
  static func explain(
    _ id: String, _ fleet: FleetQueues, _ registry: Registry, showsWholeTokens: Bool
  ) async throws(RedisError) -> ActivityExplanation {
    var facts = ActivityFacts(
      id: id, showsWholeTokens: showsWholeTokens, text: TimeText(now: Clock.unixMilliseconds))
    guard LiveActivity.isID(id) else { return ActivityExplanation(facts) }
    facts.state = try await Activities(connection: fleet.connection).state(id) ?? ActivityState()
    facts.devices = try await registry.activityDevices(id).sorted { $0.token < $1.token }
    let waiting = facts.states.map(\.newest).filter { $0.phase == .waiting }
    for newest in waiting.prefix(maximumWaits) {
      facts.waits[newest.jobID] = try await wait(of: newest.jobID, fleet)
    }
    return ActivityExplanation(facts)
  }

  private static func wait(of job: String, _ fleet: FleetQueues) async throws(RedisError) -> ActivityFacts.Wait {
    let location = try await fleet.locate(job)
    guard location.isAlive, let envelope = location.envelope else { return ActivityFacts.Wait() }
    let state = AttemptState(json: envelope.state)
    return ActivityFacts.Wait(since: state.waitingSince, until: state.expiresAt)
  }
}
