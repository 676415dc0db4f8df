import EventLoop
import Jobs
import Redis
import Registry

/// A broadcast: walks the audience of an app in pages and writes down how far it has come, never backwards.
///
/// The next pages are fetched while the pushes of the last are under way; pages are committed in order. After a crash the
/// walk goes on behind the last committed page.
@EventLoop
final class AudienceRun {
  static let pageSize = 500
  /// Pages whose pushes may be under way or waiting at once.
  private static let maximumPages = 8
  /// With so many devices put off the gateway is in trouble: the run backs off as a whole.
  private static let maximumOpen = 1000

  /// The text of a walk that is over; behind every cursor.
  private static let endCursor = "~"

  private struct Page {
    var tally: Tally
    var left: Int
    /// Where the walk goes on behind this page; nil behind the last.
    let next: AudienceCursor?
  }

  private let delivery: Delivery
  let app: String
  private let registry: Registry
  private let queue: JobQueue
  private let submit: @EventLoop (_ devices: [Device], _ page: Int) -> SubmitAnswer
  private let ended: @EventLoop () -> Void
  private var pages: [Page] = []
  private var firstPage = 0
  private var cursor: AudienceCursor? = .start
  private(set) var hasStarted = false
  private var isFetching = false
  private var isStopping = false
  private var hasEnded = false

  /// What came of handing a page over.
  enum SubmitAnswer {
    case pushes(Int, unsupported: [String])
    case refused(String)
  }

  init(
    _ delivery: Delivery, app: String, registry: Registry, queue: JobQueue,
    submit: @escaping @EventLoop (_ devices: [Device], _ page: Int) -> SubmitAnswer,
    ended: @escaping @EventLoop () -> Void
  ) {
    self.delivery = delivery
    self.app = app
    self.registry = registry
    self.queue = queue
    self.submit = submit
    self.ended = ended
  }

  /// The job is somebody else's now.
  var isFenced: Bool { delivery.claim.isFenced }

  /// Goes on behind the last page that was committed, by this worker or another.
  func start() {
    hasStarted = true
    isFetching = true
    queue.loadProgress(of: delivery.claim) { [self] answer in
      isFetching = false
      switch answer {
      case .failure(let error): return cutShort(because: "\(error)")
      case .success(let progress):
        if let progress { delivery.resume(from: progress) }
        cursor = AudienceRun.position(delivery.state.cursor)
        if let open = delivery.state.open, !open.isEmpty, !isStopping { retry(open) } else { fetch() }
      }
    }
  }

  /// Nil behind the last page.
  private static func position(_ text: String?) -> AudienceCursor? {
    text == endCursor ? nil : text.flatMap(AudienceCursor.init) ?? .start
  }

  /// Fetches no more pages; ends when those under way have. One that waits for its turn only learns how far others came.
  func stop() {
    isStopping = true
    if hasStarted { endIfDone() } else { start() }
  }

  /// A push of page `number` has ended; `record` writes it down.
  func pushEnded(page number: Int, _ record: (inout Tally) -> Void) {
    let index = number - firstPage
    guard pages.indices.contains(index) else { return }
    record(&pages[index].tally)
    pages[index].left -= 1
    commitFinished()
  }

  /// Devices that an earlier attempt left open come first, as a page of their own.
  private func retry(_ open: [String]) {
    isFetching = true
    registry.resolve([.tokens(open)]) { [self] resolutions in
      isFetching = false
      guard let resolution = resolutions.first else { return }
      if let error = resolution.error { return cutShort(because: "\(error)") }
      take(resolution.devices, next: cursor)
    }
  }

  private func fetch() {
    guard !isFetching, !isStopping, pages.count < AudienceRun.maximumPages, let from = cursor,
      delivery.tally.open.count < AudienceRun.maximumOpen
    else { return endIfDone() }
    isFetching = true
    registry.page(app: app, from: from, limit: AudienceRun.pageSize) { [self] answer in
      isFetching = false
      switch answer {
      case .failure(let error): cutShort(because: "\(error)")
      case .success(let page):
        cursor = page.next
        if !page.removals.isEmpty { registry.clean(app: app, page.removals) { _ in } }
        take(page.devices, next: page.next)
      }
    }
  }

  private func take(_ devices: [Device], next: AudienceCursor?) {
    guard !delivery.claim.isFenced else { return cutShort(because: "fenced") }
    pages.append(Page(tally: Tally(result: delivery.emptyResult), left: devices.count, next: next))
    let number = firstPage + pages.count - 1
    switch submit(devices, number) {
    case .refused(let reason):
      delivery.tally.badJobReason = reason
      pages.removeLast()
      isStopping = true
    case .pushes(let count, let unsupported):
      pages[pages.count - 1].left = count
      pages[pages.count - 1].tally.recordUnsupported(unsupported)
    }
    commitFinished()
    fetch()
  }

  private func commitFinished() {
    var hasCommitted = false
    while let page = pages.first, page.left == 0 {
      pages.removeFirst()
      firstPage += 1
      delivery.tally.merge(page.tally)
      delivery.state.cursor = page.next.map(\.description) ?? AudienceRun.endCursor
      hasCommitted = true
    }
    if hasCommitted { commit() }
    fetch()
  }

  private func commit() {
    var progress = delivery.state
    progress.open = delivery.tally.open
    progress.uncertain = delivery.tally.uncertain
    progress.result = delivery.tally.result
    queue.commitProgress(progress, of: delivery.claim)
  }

  private func cutShort(because reason: String) {
    delivery.tally.openReason = reason
    stop()
  }

  private func endIfDone() {
    guard !hasEnded, !isFetching, pages.isEmpty else { return }
    let isWholeWalkDone = cursor == nil
    guard isWholeWalkDone || isStopping || delivery.tally.open.count >= AudienceRun.maximumOpen else { return }
    hasEnded = true
    delivery.isCutShort = !isWholeWalkDone && delivery.tally.badJobReason == nil
    ended()
  }
}
