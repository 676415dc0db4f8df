import EventLoop
import Redis
import Telemetry

/// Finds ghost claims: jobs in this living worker's in-flight list whose claim was never answered, where no reaper looks.
///
/// The in-flight length comes with each heartbeat, in order with claims and settlements. One that is too long twice in a
/// row is read; before its unknown entries are adopted, the connection whose answer may be late is dropped.
@EventLoop
final class Reconciler {
  private let connection: RedisConnection
  private let queues: [QueueKeys]
  private let lease: Lease
  private let ledger: ClaimLedger
  private let permits: Permits
  private let metrics: QueueMetrics
  private let log: Log
  private var suspicions: [Int]

  /// Drops the blocked connection of a queue.
  var onDropBlocked: (@EventLoop (_ queueIndex: Int) -> Void)?
  /// Takes the adopted claims, each with one permit.
  var onClaims: (@EventLoop ([Claim]) -> Void)?

  init(
    connection: RedisConnection, queues: [QueueKeys], lease: Lease, ledger: ClaimLedger, permits: Permits,
    metrics: QueueMetrics, log: Log
  ) {
    self.connection = connection
    self.queues = queues
    self.lease = lease
    self.ledger = ledger
    self.permits = permits
    self.metrics = metrics
    self.log = log
    suspicions = Array(repeating: 0, count: queues.count)
  }

  func observe(queueIndex: Int, inflightLength: Int) {
    guard inflightLength > ledger.count(queueIndex: queueIndex) else {
      suspicions[queueIndex] = 0
      return
    }
    suspicions[queueIndex] += 1
    guard suspicions[queueIndex] >= 2 else { return }
    suspicions[queueIndex] = 0
    onDropBlocked?(queueIndex)
    adoptGhosts(queueIndex: queueIndex)
  }

  private func adoptGhosts(queueIndex: Int) {
    let worker = lease.name.value
    connection.send(RedisCommand("LRANGE", queues[queueIndex].inflight(worker), "0", "-1")) { [weak self] result in
      guard let self, worker == self.lease.name.value, case .success(.array(let values)) = result else { return }
      let known = self.ledger.outstanding(queueIndex: queueIndex).flatMap(\.possibleElements)
      let ghosts = ClaimLedger.ghosts(inflight: values.compactMap(\.bytes), known: known)
      let adopted = ghosts.suffix(self.permits.take(upTo: ghosts.count)).map {
        Claim(
          queueIndex: queueIndex, element: $0, nonce: self.lease.nextNonce(), now: Clock.unixMilliseconds,
          monotonic: Clock.monotonicNanoseconds)
      }
      guard !adopted.isEmpty else { return }
      for claim in adopted { self.ledger.add(claim) }
      self.metrics.ghosts.increment(by: adopted.count)
      self.log.warn(
        "adopted jobs whose claim was never answered",
        ["queue": .init(self.queues[queueIndex].queue), "jobs": .init(adopted.count)])
      self.onClaims?(adopted)
    }
  }
}
