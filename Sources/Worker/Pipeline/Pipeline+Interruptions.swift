import Queue
import APNs
import EventLoop
import Jobs
import Redis

/// What happens to jobs when the lease is in doubt, a worker dies, or the service stops.
extension Pipeline {
  // MARK: - Lease

  /// The process was suspended or Redis out of reach: nothing is sent until the lease is confirmed.
  func hold(_ deliveries: [Delivery]) {
    held.add(deliveries)
    queue.lease.beat()
  }

  func leaseConfirmed() {
    guard queue.lease.isFresh else { return }
    let held = held.takeAll()
    for draft in held.drafts { send(draft) }
    guard !held.deliveries.isEmpty else { return }
    for delivery in held.deliveries where delivery.claim.isFenced { releasePermit(of: delivery) }
    // Again, as owners may have changed.
    resolve(held.deliveries.filter { !$0.claim.isFenced })
  }

  /// The worker's claims were fenced: the lease that held jobs wait for will not be confirmed.
  func leaseLost() {
    broadcasts.dropFenced()
    leaseConfirmed()
  }

  // MARK: - Crashed workers

  /// At most once: an operator decides whether the pushes of a worker that died are sent again. A requeued broadcast
  /// continues after its last committed page.
  func buryCrashed(_ delivery: Delivery) {
    guard case .app = delivery.job.addressee else { return buryUncertain(delivery) }
    queue.loadProgress(of: delivery.claim) { [self] result in
      switch result {
      case .failure(let error): postpone(delivery, error, extent: .untouched)
      case .success(let progress):
        if let progress { delivery.resume(from: progress) }
        buryUncertain(delivery)
      }
    }
  }

  private func buryUncertain(_ delivery: Delivery) {
    delivery.tally.open = delivery.state.open ?? []
    end(
      delivery,
      as: JobOutcome(buryingUncertain: delivery.tally, because: JobOutcome.crashed, extent: .cutShort))
  }

  // MARK: - SIGTERM

  /// Broadcasts end after the pages in flight; another worker continues.
  func stopBroadcasts() { broadcasts.stop() }

  /// Gives up the pushes that were not sent to APNs; their devices stay open.
  func abandonWaiting() {
    stopBroadcasts()
    // First, because the permits released below would let waiting pushes be sent.
    let waiting = window.drainWaiting()
    let unsent = held.takeDrafts()
    for draft in unsent { window.leave(draft, isAnswered: false) }
    abandonLooks()
    for draft in unsent + waiting {
      record(.open(after: .zero, isFault: true), .notProcessed("the worker stopped"), draft)
    }
  }
}
