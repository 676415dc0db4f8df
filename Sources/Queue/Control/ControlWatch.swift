import EventLoop
import Telemetry

/// What a worker knows of the control strings of its queues. It comes with each claim, and with the promoter's script,
/// which every worker runs within each ``QueueLimits/electionInterval``.
@EventLoop
final class ControlWatch {
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
    metrics.gauge("martlet_queue_paused", labels: ["queue"], help: "1 while an operator has paused the queue.") {
      [weak self] in self?.samples ?? []
    }
  }

  func state(queueIndex: Int) -> ControlState? { states[queueIndex] }

  func isPaused(queueIndex: Int) -> Bool { states[queueIndex]?.isPaused ?? false }

  /// Whether claimed jobs are looked up before they are worked on.
  func mustScreen(queueIndex: Int) -> Bool {
    guard let state = states[queueIndex] else { return scheduling.contains(queueIndex) }
    return !state.flags.isDisjoint(with: ControlWatch.aboutJobs) || scheduling.contains(queueIndex)
  }

  /// The flags that concern single jobs.
  private static let aboutJobs: Set<ControlState.Flag> = [.cancellations, .pausedBroadcasts, .scheduledIDs]

  /// Treats the next answer of Redis as a change, even if it is the same.
  func repeatChange(queueIndex: Int) { unfinished.insert(queueIndex) }

  func hasScheduledIDs(queueIndex: Int) -> Bool {
    scheduling.contains(queueIndex) || states[queueIndex]?.flags.contains(.scheduledIDs) == true
  }

  /// Whether jobs are cancelled. Up to a second may pass until this worker knows.
  func hasCancellations(queueIndex: Int) -> Bool {
    states[queueIndex]?.flags.contains(.cancellations) ?? false
  }

  func hasPausedBroadcasts(queueIndex: Int) -> Bool {
    states[queueIndex]?.flags.contains(.pausedBroadcasts) ?? false
  }

  func noteScheduledID(queueIndex: Int) { scheduling.insert(queueIndex) }

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
