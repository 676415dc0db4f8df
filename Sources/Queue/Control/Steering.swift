import EventLoop
import Redis

/// Carries out what operators ask of the jobs in flight and of the worker itself, when a control string has changed.
@EventLoop
final class Steering {
  /// Called when ``isDraining`` has changed.
  var onDrainChange: (@EventLoop () -> Void)?

  private let context: QueueContext
  /// The end of the last cancellation that was read, for each queue. Cancellations are read in the order of their ends.
  private var lastCancellation: [String]
  /// The queues in which an operator drains this worker, each with the name that is known to be drained there.
  private var draining: [Int: String] = [:]

  init(_ context: QueueContext) {
    self.context = context
    lastCancellation = context.queues.map { _ in "0" }
  }

  var isDraining: Bool { !draining.isEmpty }

  func controlChanged(_ queueIndex: Int, _ old: ControlState?) {
    let flags = context.control.state(queueIndex: queueIndex)?.flags ?? []
    if flags.contains(.cancellations) { readCancellations(queueIndex) }
    if flags.contains(.pausedBroadcasts) { context.emit(.broadcastsPaused(queueIndex: queueIndex)) }
    if let name = draining[queueIndex], name != context.lease.name.value {
      keepDraining(queueIndex, name)
    } else if flags.contains(.drainedWorkers) {
      readDrain(queueIndex)
    } else if draining[queueIndex] != nil, !context.lease.isFresh {
      // The fleet may have taken this worker for dead and removed it from the drained ones. It stays drained.
      context.control.repeatChange(queueIndex: queueIndex)
    } else {
      setDraining(nil, queueIndex)
    }
  }

  // MARK: - Cancellations

  /// Reads the cancellations since the last ones, and marks the jobs in flight.
  private func readCancellations(_ queueIndex: Int) {
    guard !context.ledger.outstanding(queueIndex: queueIndex).isEmpty else { return }
    var command = RedisCommand(
      "ZRANGE", context.queues[queueIndex].cancelled, "(" + lastCancellation[queueIndex], "+inf", "BYSCORE", "LIMIT",
      "0")
    command.append(QueueLimits.cancellationBatch)
    command.append("WITHSCORES")
    context.connection.send(command) { [weak self] result in
      guard let self else { return }
      guard case .success(let value) = result else { return context.control.repeatChange(queueIndex: queueIndex) }
      let words = (value.array ?? []).compactMap(\.string)
      guard let last = words.last else { return }
      lastCancellation[queueIndex] = last
      mark(Set(stride(from: 0, to: words.count - 1, by: 2).map { words[$0] }), queueIndex)
      if words.count >= 2 * QueueLimits.cancellationBatch { readCancellations(queueIndex) }
    }
  }

  private func mark(_ ids: Set<String>, _ queueIndex: Int) {
    let claims = context.ledger.outstanding(queueIndex: queueIndex).filter {
      !$0.isCancelled && !$0.isSettled && ids.contains($0.jobID)
    }
    guard !claims.isEmpty else { return }
    for claim in claims { claim.isCancelled = true }
    context.emit(.cancelled(claims))
  }

  // MARK: - Draining

  private func readDrain(_ queueIndex: Int) {
    let worker = context.lease.name.value
    context.connection.send(RedisCommand("SISMEMBER", context.queues[queueIndex].drained, worker)) {
      [weak self] result in
      guard let self, worker == context.lease.name.value else { return }
      guard case .success(let value) = result else { return context.control.repeatChange(queueIndex: queueIndex) }
      setDraining(value.integer == 1 ? worker : nil, queueIndex)
    }
  }

  private func setDraining(_ name: String?, _ queueIndex: Int) {
    let was = isDraining
    draining[queueIndex] = name
    if was != isDraining { onDrainChange?() }
  }

  /// The worker has a new name, under which it stays drained.
  func keepDraining() {
    for (index, name) in draining { keepDraining(index, name) }
  }

  private func keepDraining(_ queueIndex: Int, _ old: String) {
    let new = context.lease.name.value
    let keys = context.queues[queueIndex]
    let call = QueueScripts.keepDrained(control: keys.control, drained: keys.drained, old: old, new: new)
    context.connection.send(call) { [weak self] result in
      guard let self else { return }
      guard case .success = result else { return context.control.repeatChange(queueIndex: queueIndex) }
      if draining[queueIndex] == old { draining[queueIndex] = new }
    }
  }

  /// The worker ends.
  func leave() {
    for (index, name) in draining {
      let command = RedisCommand("SREM", context.queues[index].drained, name, context.lease.name.value)
      context.connection.send(command) { _ in }
    }
  }
}
