import APNs
import EventLoop
import Jobs
import PushModel
import Queue
import Redis
import Registry

/// One attempt at a job to an app's audience: carries out what ``BroadcastProgress`` decides.
@EventLoop
final class Broadcast {
  /// Devices that are read at once: several pages.
  private static let readSize = 500

  let delivery: Delivery
  let app: String
  private let context: PipelineContext
  private let composer: PushComposer
  private let enter: @EventLoop ([PushDraft]) -> Void
  private let onEnd: @EventLoop (Broadcast, AttemptEnd?) -> Void
  private var progress: BroadcastProgress
  /// The devices that the stored progress lists, as far as is known.
  private var storedList: [DeviceResult] = []

  /// `enter` is called with the pushes of each page, `onEnd` once, with nil if the job was fenced.
  init(
    _ delivery: Delivery, app: String, _ context: PipelineContext, _ composer: PushComposer,
    enter: @escaping @EventLoop ([PushDraft]) -> Void, onEnd: @escaping @EventLoop (Broadcast, AttemptEnd?) -> Void
  ) {
    self.delivery = delivery
    self.app = app
    self.context = context
    self.composer = composer
    self.enter = enter
    self.onEnd = onEnd
    let inFlight = SendWindow.maximumWaitingInFlight(of: context.permits.maximum)
    progress = BroadcastProgress(
      emptyTally: delivery.emptyTally,
      maximumUncommitted: max(inFlight - BroadcastProgress.pageSize, BroadcastProgress.maximumUncommitted))
  }

  var isWaiting: Bool { progress.isWaiting }

  func start() {
    context.queue.writeState(.running, ofBroadcast: delivery.id, app: app, claim: delivery.claim)
    carryOut(progress.start())
  }

  /// Ends after the current pages, because an operator has paused the broadcast.
  func pause() { carryOut(progress.pause()) }

  func stop() { carryOut(progress.stop()) }

  func pushEnded(_ push: EndedPush, page: Int) { carryOut(progress.pushEnded(push, page: page)) }

  /// The job was fenced: nothing more is sent or written for it.
  func abandon() {
    progress.abandon()
    onEnd(self, nil)
  }

  private func carryOut(_ actions: [BroadcastProgress.Action]) {
    guard !actions.isEmpty else { return }
    guard !delivery.claim.isFenced else { return abandon() }
    for action in actions {
      switch action {
      case .loadProgress: loadProgress()
      case .resolve(let tokens, let page): resolve(tokens, page)
      case .fetch(let cursor, let page): fetch(from: cursor, page)
      case .submit(let devices, let page): submit(devices, page)
      case .commit(let tally, let next): commit(tally, next: next)
      case .end(let end): onEnd(self, end)
      }
    }
  }

  private func commit(_ tally: Tally, next: BroadcastProgress.Position) {
    delivery.commit(tally, next: next)
    let results = delivery.tally.result.results
    let changesList = results != storedList
    storedList = results
    context.queue.commitProgress(delivery.progress, changesList: changesList, of: delivery.claim) { [self] in
      storedList = []
    }
  }

  private func loadProgress() {
    context.queue.loadProgress(of: delivery.claim) { [self] result in
      switch result {
      case .failure(let error): carryOut(progress.positioningFailed(.init(error)))
      case .success(let earlier):
        guard progress.isPositioning else { return }
        if let earlier { delivery.resume(from: earlier) }
        carryOut(progress.positioned(at: .init(text: delivery.state.cursor), open: delivery.state.open ?? []))
      }
    }
  }

  private func resolve(_ tokens: [DeviceToken], _ page: Int) {
    context.registry.resolve([.tokens(tokens)]) { [self] resolutions in
      guard let resolution = resolutions.first else { return }
      if let error = resolution.error { return carryOut(progress.pageFailed(page, .init(error))) }
      carryOut(progress.pageLoaded(page, resolution.devices))
    }
  }

  private func fetch(from cursor: AudienceCursor, _ page: Int) {
    let registry = context.registry
    registry.audiencePage(of: app, from: cursor, limit: Broadcast.readSize) { [self] next in
      carryOut(progress.pageLocated(page, next: .init(next)))
    } completion: { [self] result in
      switch result {
      case .failure(let error): carryOut(progress.pageFailed(page, .init(error)))
      case .success(let found):
        // Entries that stay are found again by the next broadcast.
        if !found.removals.isEmpty { registry.clean(app: app, found.removals) { _ in } }
        carryOut(progress.pageLoaded(page, found.devices))
      }
    }
  }

  private func submit(_ devices: ArraySlice<Device>, _ page: Int) {
    guard context.clients != nil else { return keepRecords(of: devices, page) }
    switch composer.compose(delivery, devices, page: .init(broadcast: self, number: page)) {
    case .refused(let reason): carryOut(progress.refused(page, because: reason))
    case .pushes(let drafts, let unreachable):
      // First: the push of a draft may end as soon as it is in the window.
      let actions = progress.submitted(page, pushes: drafts.count, unreachable: unreachable)
      enter(drafts)
      carryOut(actions)
    }
  }

  /// In polling-only mode each user of the page gets a notification record instead of a push.
  private func keepRecords(of devices: ArraySlice<Device>, _ page: Int) {
    let users = Set(devices.compactMap(\.username)).sorted()
    guard !users.isEmpty, let record = NotificationRecords(context.configuration).unsent(delivery, for: users)
    else {
      return carryOut(progress.submitted(page, pushes: 0))
    }
    context.queue.keep(record) { [self] result in
      switch result {
      case .success: carryOut(progress.recordsKept(page: page))
      case .failure(let error): carryOut(progress.pageFailed(page, .init(reason: "\(error)")))
      }
    }
    carryOut(progress.submitted(page, pushes: 1))
  }
}

extension Delivery {
  /// Adds a committed part to the attempt.
  fileprivate func commit(_ part: Tally, next: BroadcastProgress.Position) {
    tally.merge(part)
    state.cursor = next.text
  }

  /// What another worker would continue from.
  fileprivate var progress: AttemptState {
    var progress = state
    progress.open = tally.open
    progress.uncertain = tally.uncertain
    progress.result = tally.result
    return progress
  }
}
