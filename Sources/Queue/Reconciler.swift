import EventLoop
import Redis
import Telemetry

/// Finds ghost claims: jobs in this living worker's in-flight list whose claim was never answered, where no reaper looks.
///
/// The length of the in-flight and the landing list comes with each heartbeat, in order with claims and settlements. One that is too long twice in a
/// row is read; before its unknown entries are adopted, the connection whose answer may be late is dropped.
@EventLoop
final class Reconciler {
  private let connection: RedisConnection
  private let queues: [QueueKeys]
  private let lease: Lease
  private let ledger: ClaimLedger
  private let permits: Permits
  private let metrics: QueueMetrics
  private let burials: BurialReport
  private let log: Log
  private var suspicions: [Int]

  /// Drops the blocked connection of a queue.
  var onDropBlocked: (@EventLoop (_ queueIndex: Int) -> Void)?
  /// Takes the adopted claims, each with one permit.
  var onClaims: (@EventLoop ([Claim]) -> Void)?

  init(
    connection: RedisConnection, queues: [QueueKeys], lease: Lease, ledger: ClaimLedger, permits: Permits,
    metrics: QueueMetrics, burials: BurialReport, log: Log
  ) {
    self.connection = connection
    self.queues = queues
    self.lease = lease
    self.ledger = ledger
    self.permits = permits
    self.metrics = metrics
    self.burials = burials
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

  /// What has landed first, then what is in flight; a permit for each.
  private func adoptGhosts(queueIndex: Int) {
    let keys = queues[queueIndex]
    let worker = lease.name.value
    let room = permits.take(upTo: QueueLimits.claimBatch)
    guard room > 0 else { return }
    let known = ledger.outstanding(queueIndex: queueIndex).compactMap(\.envelope.nonce)
    let lastKnown = ledger.lastSerial
    let scriptKeys = [
      keys.landing(worker), keys.inflight(worker), keys.heartbeat(worker), keys.seal, keys.dead, keys.queue,
    ]
    connection.call(QueueScripts.claim, keys: scriptKeys) { command in
      command.append(room)
      command.append(lease.nextNoncePrefix())
    } _: { [weak self] result in
      guard let self, case .success(let value) = result, let answer = ClaimAnswer(value, queue: keys.queue) else {
        return
      }
      self.burials.note(answer, keys)
    }
    connection.call(QueueScripts.ghosts, keys: [keys.inflight(worker)]) { command in
      command.append(room)
      for nonce in known { command.append(nonce) }
    } _: { [weak self] result in
      guard let self else { return }
      guard worker == self.lease.name.value, case .success(.array(let values)) = result else {
        return self.permits.release(room)
      }
      // Claims that were answered meanwhile.
      let answered = self.ledger.outstanding(queueIndex: queueIndex).filter { $0.serial > lastKnown }.map(\.element)
      let ghosts = ClaimLedger.ghosts(inflight: values.compactMap(\.bytes), known: answered)
      self.permits.release(room - ghosts.count)
      self.adopt(ghosts, queueIndex: queueIndex)
    }
  }

  private func adopt(_ ghosts: [[UInt8]], queueIndex: Int) {
    guard !ghosts.isEmpty else { return }
    let adopted = ghosts.map {
      Claim(
        queueIndex: queueIndex, element: $0, nonce: lease.nextNonce(), now: Clock.unixMilliseconds,
        monotonic: Clock.monotonicNanoseconds)
    }
    for claim in adopted { ledger.add(claim) }
    metrics.ghosts.increment(by: adopted.count)
    log.warn(
      "adopted jobs whose claim was never answered",
      ["queue": .init(queues[queueIndex].queue), "jobs": .init(adopted.count)])
    onClaims?(adopted)
  }
}
