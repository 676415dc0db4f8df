public import EventLoop
import Telemetry

/// What a worker knows of the control strings of its queues. It comes with each claim, and with the promoter's script,
/// which every worker runs within each ``QueueLimits/electionInterval``.
@EventLoop
public final class ControlWatch {
  /// Called when the control string of a queue has changed, with what it was.
  var onChange: (@EventLoop (_ queueIndex: Int, _ old: ControlState?) -> Void)?

  private let queues: [QueueKeys]
  private var states: [ControlState?]
  /// Queues to which this worker is scheduling a job with an id, which the control string of its last claim does not show.
  private var scheduling: Set<Int> = []
  /// Queues whose last change could not be carried out, because Redis did not answer.
  private var unfinished: Set<Int> = []

  init(queues: [QueueKeys], metrics: Metrics) {
    self.queues = queues
    states = queues.map { _ in nil }
    metrics.gauge(
      "martlet_queue_paused", labels: ["queue"],
      help: "1 while an operator has [paused](explaining.md#control) the queue",
      worry: "it stays 1"
    ) {
      [weak self] in self?.samples ?? []
    }
  }

  func state(queueIndex: Int) -> ControlState? { states[queueIndex] }

  func isPaused(queueIndex: Int) -> Bool { has(.paused, queueIndex: queueIndex) }

  /// Whether this is asked of the queue. Up to a second may pass until this worker knows.
  public func has(_ flag: ControlState.Flag, queueIndex: Int) -> Bool {
    if flag == .scheduledIDs, scheduling.contains(queueIndex) { return true }
    return states[queueIndex]?.flags.contains(flag) ?? false
  }

  /// Whether jobs that were claimed from this queue must be screened. False if operators have asked nothing of the queue.
  public func mustScreen(queueIndex: Int) -> Bool {
    guard let state = states[queueIndex] else { return scheduling.contains(queueIndex) }
    return !state.flags.isDisjoint(with: ControlWatch.aboutJobs) || scheduling.contains(queueIndex)
  }

  /// The flags that concern single jobs.
  private static let aboutJobs: Set<ControlState.Flag> = [.cancellations, .pausedBroadcasts, .scheduledIDs]

  /// Treats the next answer of Redis as a change, even if it is the same: the last one could not be carried out.
  public func repeatChange(queueIndex: Int) { unfinished.insert(queueIndex) }

  /// Notes that this worker schedules a job under its producer's id. The jobs that were claimed with it must be screened.
  public func addScheduling(queueIndex: Int) { scheduling.insert(queueIndex) }

  /// Applies the control string that Redis has returned.
  func take(_ new: ControlState?, queueIndex: Int) {
    if !scheduling.isEmpty { scheduling.remove(queueIndex) }
    let old = states[queueIndex]
    let isRepeated = !unfinished.isEmpty && unfinished.remove(queueIndex) != nil
    guard old?.version != new?.version || isRepeated else { return }
    states[queueIndex] = new
    onChange?(queueIndex, old)
  }

  private var samples: [([String], Double)] {
    zip(queues, states).map { keys, state in ([keys.queue], state?.isPaused == true ? 1 : 0) }
  }
}
