import Queue
import APNs
import EventLoop
import Jobs
import Registry

/// Jobs to an app's whole audience, and what becomes of them when the worker stops.
extension Pipeline {
  func broadcast(_ delivery: Delivery, to app: String) {
    // The claim's permit would be idle between pages; the pushes take their own.
    releasePermit(of: delivery)
    guard client != nil || (book.notifications != .off && !isTooLargeForMany(delivery)) else {
      return concludeUnsent(delivery)
    }
    guard hasRoom(forBroadcastOf: app) else {
      // Untouched, it comes back: what an earlier attempt left stays in Redis.
      delivery.isProgressUnknown = true
      let later = JobOutcome.Verb.retry(delay: PushOutcome.faultDelay, countsAttempt: false)
      return conclude(delivery, JobOutcome(status: .retrying, verb: later))
    }
    let run = AudienceRun(delivery, app: app, registry: registry, queue: queue) { [self] devices, page in
      client == nil ? keepPage(delivery, devices, page) : submitPage(delivery, devices, page)
    } ended: { [self] in
      forget(broadcastOf: delivery)
      finish(delivery)
    }
    broadcasts[ObjectIdentifier(delivery)] = run
    waitingBroadcasts[app, default: []].append(run)
    beginBroadcasts(of: app)
  }

  /// Broadcasts hold no permit while they wait: without a bound a backlog of them would all be claimed.
  private func hasRoom(forBroadcastOf app: String) -> Bool {
    broadcasts.count < Pipeline.maximumBroadcasts
      && waitingBroadcasts[app, default: []].count < Pipeline.maximumWaitingOfApp
  }

  func forget(broadcastOf delivery: Delivery) {
    guard let run = broadcasts.removeValue(forKey: ObjectIdentifier(delivery)) else { return }
    beginBroadcasts(of: run.app)
  }

  /// Of each app a few walk at once, in the order in which they came: pages in memory are many, and a backlog may hold
  /// thousands of broadcasts. Those of other apps do not wait.
  private func beginBroadcasts(of app: String) {
    var waiting = waitingBroadcasts.removeValue(forKey: app) ?? []
    waiting.removeAll { $0.hasStarted || $0.isFenced }
    let walking = broadcasts.values.count { $0.app == app && $0.hasStarted }
    let next = waiting.prefix(max(0, Pipeline.maximumBroadcastsOfApp - walking))
    waiting.removeFirst(next.count)
    if !waiting.isEmpty { waitingBroadcasts[app] = waiting }
    for run in next { run.start() }
  }

  /// The fleet has taken jobs away: what they were waiting for will not come.
  func dropFencedBroadcasts() {
    let apps = Set(broadcasts.values.filter(\.isFenced).map(\.app))
    broadcasts = broadcasts.filter { !$0.value.isFenced }
    for app in apps { beginBroadcasts(of: app) }
  }

  private func submitPage(_ delivery: Delivery, _ devices: [Device], _ page: Int) -> AudienceRun.SubmitAnswer {
    switch composer.compose(delivery, devices, page: page) {
    case .refused(let reason): return .refused(reason)
    case .pushes(let drafts, let unsupported):
      enter(drafts, of: delivery)
      return .pushes(drafts.count, unsupported: unsupported)
    }
  }

  /// Polling-only: the page is done when each of its users finds a record.
  private func keepPage(_ delivery: Delivery, _ devices: [Device], _ page: Int) -> AudienceRun.SubmitAnswer {
    let users = Set(devices.compactMap(\.username)).sorted()
    guard !users.isEmpty, let notification = book.unsentNotification(of: delivery, for: users) else {
      return .pushes(0, unsupported: [])
    }
    queue.keep(notification, of: delivery.id) { [self] result in
      let run = broadcasts[ObjectIdentifier(delivery)]
      switch result {
      case .success: run?.pushEnded(page: page) { _ in }
      case .failure(let error): run?.pageFailed(page, because: "\(error)")
      }
    }
    return .pushes(1, unsupported: [])
  }

  /// Broadcasts end behind the pages under way; another worker goes on.
  func stopBroadcasts() {
    for run in broadcasts.values { run.stop() }
  }

  /// Gives up what has not been handed to APNs; the devices stay open.
  func abandonWaiting() {
    stopBroadcasts()
    // First: permits that are given back let waiting pushes go.
    let waiting = window.drainWaiting()
    let unsent = heldDrafts
    heldDrafts = []
    for draft in unsent {
      window.leave()
      write(.open(after: .zero, isFault: true), .notProcessed("the worker stopped"), draft)
    }
    for draft in waiting {
      write(.open(after: .zero, isFault: true), .notProcessed("the worker stopped"), draft)
    }
  }

  /// An attempt that has ended left everything in its envelope; behind the settlement, so that one of them is always there.
  func forgetProgress(of delivery: Delivery) {
    EventLoop.atEndOfTurn { [self] in queue.clearProgress(of: delivery.claim) }
  }
}
