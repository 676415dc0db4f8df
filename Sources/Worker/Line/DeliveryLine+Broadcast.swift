import APNs
import EventLoop
import Jobs
import Registry

/// Jobs to an app's whole audience, and what becomes of them when the worker stops.
extension DeliveryLine {
  func broadcast(_ delivery: Delivery, to app: String) {
    // The claim's permit would be idle between pages; the pushes take their own.
    releasePermit(of: delivery)
    guard client != nil else { return conclude(delivery, Conclusion(status: .unsent, verb: .done)) }
    let run = AudienceRun(delivery, app: app, registry: registry, queue: queue) { [self] devices, page in
      submitPage(delivery, devices, page)
    } ended: { [self] in
      broadcasts[ObjectIdentifier(delivery)] = nil
      finish(delivery)
    }
    broadcasts[ObjectIdentifier(delivery)] = run
    run.start()
  }

  private func submitPage(_ delivery: Delivery, _ devices: [Device], _ page: Int) -> AudienceRun.SubmitAnswer {
    switch composer.compose(delivery, devices, page: page) {
    case .refused(let reason): return .refused(reason)
    case .pushes(let drafts, let unsupported):
      enter(drafts, of: delivery)
      return .pushes(drafts.count, unsupported: unsupported)
    }
  }

  /// Broadcasts end behind the pages under way; another worker goes on.
  func stopBroadcasts() {
    for run in broadcasts.values { run.stop() }
  }

  /// Gives up what has not been handed to APNs; the devices stay open.
  func abandonWaiting() {
    stopBroadcasts()
    let unsent = heldDrafts
    heldDrafts = []
    for draft in unsent {
      permits.release()
      write(.open(after: .zero, isFault: true), .notProcessed("the worker stopped"), draft)
    }
    for draft in window.drainWaiting() {
      write(.open(after: .zero, isFault: true), .notProcessed("the worker stopped"), draft)
    }
  }

  /// An attempt that has ended left everything in its envelope; behind the settlement, so that one of them is always there.
  func forgetProgress(of delivery: Delivery) {
    EventLoop.atEndOfTurn { [self] in queue.clearProgress(of: delivery.claim) }
  }
}
