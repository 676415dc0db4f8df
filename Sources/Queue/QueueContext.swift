import EventLoop
import Events
import Redis
import Telemetry

/// What the parts of a ``JobQueue`` share.
@EventLoop
final class QueueContext {
  /// Carries everything but the blocking claims.
  let connection: RedisClient
  /// In strict order: a queue is asked only when those before it are empty.
  let queues: [QueueKeys]
  let mode: DeliveryMode
  /// A permit is taken before a job is claimed.
  let permits: Permits
  let lease: Lease
  let ledger: ClaimLedger
  let control: ControlWatch
  let metrics: QueueMetrics
  let warnings: QueueWarnings
  /// Nil if no events are written.
  let events: EventLog?
  let log: Log

  var onEvent: (@EventLoop (QueueEvent) -> Void)?

  init(
    _ configuration: JobQueue.Configuration, connection: RedisClient, permits: Permits,
    events: EventLog?, metrics: Metrics, log: Log
  ) {
    self.connection = connection
    self.events = events
    self.permits = permits
    self.log = log
    queues = configuration.queues.map(QueueKeys.init(queue:))
    mode = configuration.mode
    lease = Lease(connection: connection, queues: queues, log: log)
    ledger = ClaimLedger(queueCount: queues.count)
    control = ControlWatch(queues: queues, metrics: metrics)
    self.metrics = QueueMetrics(metrics)
    // A counter that is absent until it is needed has no increase when it appears.
    for keys in queues { _ = self.metrics.reapedWorkers[keys.queue] }
    warnings = QueueWarnings(metrics: self.metrics, log: log)
  }

  func emit(_ event: QueueEvent) { onEvent?(event) }

  /// Counts and reports the jobs that a claiming script has buried.
  func reportBurials(_ answer: ClaimAnswer, queueIndex: Int) {
    warnings.warnOfBurials(answer, queues[queueIndex])
    guard !answer.oversized.isEmpty else { return }
    emit(.oversized(answer.oversized))
  }

  /// Makes claims of elements from the in-flight list, and hands them to the worker. Each has one permit.
  func deliver(_ elements: [[UInt8]], queueIndex: Int, areInOrder: Bool) {
    let now = Clock.unixMilliseconds
    let monotonic = Clock.monotonicNanoseconds
    var claims: [Claim] = []
    claims.reserveCapacity(elements.count)
    for element in elements {
      let claim = Claim(
        queueIndex: queueIndex, element: element, isInOrder: areInOrder, nonce: lease.makeNonce(), now: now,
        monotonic: monotonic)
      ledger.add(claim)
      claims.append(claim)
    }
    emit(.claimed(claims))
  }
}
