import EventLoop
import Redis
import Telemetry

/// Finds ghost claims: jobs in the in-flight list of this living worker whose claim was never answered. No reaper
/// looks there.
///
/// Each heartbeat brings the length of the in-flight and the landing list, in order with claims and settlements. A
/// length that is too long twice in a row means ghost claims. The connection whose answer may only be late is
/// dropped before they are adopted.
@EventLoop
final class Reconciler {
  private let context: QueueContext
  private let fetcher: Fetcher
  /// Per queue, how many lengths in a row were too long.
  private var suspicions: [Int]

  init(_ context: QueueContext, fetcher: Fetcher) {
    self.context = context
    self.fetcher = fetcher
    suspicions = Array(repeating: 0, count: context.queues.count)
  }

  /// Takes the length that came with a heartbeat.
  func take(inflightLength: Int, queueIndex: Int) {
    guard inflightLength > context.ledger.outstanding(queueIndex: queueIndex).count else {
      suspicions[queueIndex] = 0
      return
    }
    suspicions[queueIndex] += 1
    guard suspicions[queueIndex] >= 2 else { return }
    suspicions[queueIndex] = 0
    fetcher.dropBlocked(queueIndex: queueIndex)
    adoptUnanswered(queueIndex: queueIndex)
  }

  /// Claims what has landed, then adopts what is in flight and unknown. Takes a permit for each.
  private func adoptUnanswered(queueIndex: Int) {
    let room = context.permits.take(upTo: QueueLimits.claimBatch)
    guard room > 0 else { return }
    claimLanded(queueIndex: queueIndex, upTo: room)
    readUnanswered(queueIndex: queueIndex, upTo: room)
  }

  /// Moves what has landed to the in-flight list. It is adopted from there.
  private func claimLanded(queueIndex: Int, upTo room: Int) {
    let keys = context.queues[queueIndex]
    let call = keys.claim(
      landed: true, by: context.lease.name.value, upTo: room, noncePrefix: context.lease.makeNoncePrefix(), .atLeastOnce
    )
    context.connection.send(call) { [context] result in
      guard case .success(let value) = result, let answer = ClaimAnswer(value, queue: keys.queue) else { return }
      context.reportBurials(answer, queueIndex: queueIndex)
    }
  }

  private func readUnanswered(queueIndex: Int, upTo room: Int) {
    let worker = context.lease.name.value
    let known = context.ledger.outstanding(queueIndex: queueIndex).compactMap(\.envelope.nonce)
    let lastKnown = context.ledger.lastSerial
    let call = QueueScripts.ghostClaims(
      inflight: context.queues[queueIndex].inflight(worker), most: room, nonces: known.joined(separator: " "))
    context.connection.send(call) { [weak self, context] result in
      guard let self, worker == context.lease.name.value, case .success(.array(let values)) = result else {
        return context.permits.release(room)
      }
      // Claims that were answered after the script was sent.
      let answered = context.ledger.outstanding(queueIndex: queueIndex).filter { $0.serial > lastKnown }.map(\.element)
      let ghosts = values.compactMap(\.bytes).filter { !answered.contains($0) }
      context.permits.release(room - ghosts.count)
      adopt(ghosts, queueIndex: queueIndex)
    }
  }

  private func adopt(_ ghosts: [[UInt8]], queueIndex: Int) {
    guard !ghosts.isEmpty else { return }
    context.metrics.ghostClaims.increment(by: ghosts.count)
    // Operator: Nothing. Connections to Redis were lost.
    context.log.warn(
      "adopted jobs whose claim was never answered",
      ["queue": .init(context.queues[queueIndex].queue), "jobs": .init(ghosts.count)])
    context.deliver(ghosts, queueIndex: queueIndex, areInOrder: false)
  }
}
