import Queue
import EventLoop
import Jobs
import Redis
import Registry

/// A broadcast: walks the audience of an app in pages and writes down how far it has come, never backwards.
///
/// The next pages are asked for while the last ones are on their way and their pushes under way; pages are committed in
/// order. After a crash the walk goes on behind the last committed page.
@EventLoop
final class AudienceRun {
  static let pageSize = 500
  /// Pages asked for, or with pushes under way or waiting, at once.
  private static let maximumPages = 8
  /// With so many devices put off the gateway is in trouble: the run backs off as a whole.
  private static let maximumOpen = 1000

  /// The text of a walk that is over; behind every cursor.
  private static let endCursor = "~"

  private struct Page {
    var tally: Tally
    /// Pushes that have not ended; nil until the devices are there.
    var left: Int?
    let start: AudienceCursor?
    /// Devices that an earlier attempt left open, in their own page.
    var named: [String] = []
    /// Where the walk goes on behind this page; nil behind the last.
    var next: AudienceCursor?
  }

  private let delivery: Delivery
  let app: String
  private let registry: Registry
  private let queue: JobQueue
  private let submit: @EventLoop (_ devices: [Device], _ page: Int) -> SubmitAnswer
  private let ended: @EventLoop () -> Void
  private var pages: [Page] = []
  private var firstPage = 0
  /// Where the next page begins; nil behind the last, and before the run is positioned.
  private var cursor: AudienceCursor?
  /// It is known how far the walk had come before.
  private var isPositioned = false
  /// What ``cursor`` will be is being asked for.
  private var isLocating = false
  /// It waits for its turn no longer.
  private(set) var hasStarted = false
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
    queue.loadProgress(of: delivery.claim) { [self] answer in
      guard !hasEnded else { return }
      switch answer {
      case .failure(let error): return cutShort(because: error)
      case .success(let progress):
        isPositioned = true
        if let progress { delivery.resume(from: progress) }
        cursor = AudienceRun.position(delivery.state.cursor)
        if let open = delivery.state.open, !open.isEmpty { retry(open) } else { fetch() }
      }
    }
  }

  /// Nil behind the last page.
  private static func position(_ text: String?) -> AudienceCursor? {
    text == endCursor ? nil : text.flatMap(AudienceCursor.init) ?? .start
  }

  /// Takes no more pages; ends when those under way have.
  func stop() {
    isStopping = true
    hasStarted = true
    if let index = pages.firstIndex(where: { $0.left == nil }) { drop(from: index) }
    endIfDone()
  }

  /// A push of page `number` has ended; `record` writes it down.
  func pushEnded(page number: Int, _ record: (inout Tally) -> Void) {
    let index = number - firstPage
    guard pages.indices.contains(index), let left = pages[index].left else { return }
    record(&pages[index].tally)
    pages[index].left = left - 1
    commitFinished()
  }

  /// What was to be done with page `number` failed as a whole: the walk goes on there, later.
  func pageFailed(_ number: Int, because reason: String) {
    guard pages.indices.contains(number - firstPage) else { return }
    cutShort(at: number, because: reason)
  }

  /// Devices that an earlier attempt left open come first, as a page of their own.
  private func retry(_ open: [String]) {
    let number = begin()
    pages[number - firstPage].next = cursor
    pages[number - firstPage].named = open
    registry.resolve([.tokens(open)]) { [self] resolutions in
      guard let resolution = resolutions.first else { return }
      if let error = resolution.error { return cutShort(at: number, because: error) }
      take(resolution.devices, page: number)
    }
  }

  private func fetch() {
    guard !isLocating, !isStopping, pages.count < AudienceRun.maximumPages, let from = cursor,
      delivery.tally.open.count < AudienceRun.maximumOpen
    else { return endIfDone() }
    isLocating = true
    let number = begin()
    registry.page(app: app, from: from, limit: AudienceRun.pageSize) { [self] next in
      isLocating = false
      guard pages.indices.contains(number - firstPage) else { return endIfDone() }
      pages[number - firstPage].next = next
      cursor = next
      fetch()
    } completion: { [self] answer in
      switch answer {
      case .failure(let error):
        isLocating = false
        cutShort(at: number, because: error)
      case .success(let page):
        if !page.removals.isEmpty { registry.clean(app: app, page.removals) { _ in } }
        take(page.devices, page: number)
      }
    }
  }

  /// A place for a page that is being asked for; its number.
  private func begin() -> Int {
    pages.append(Page(tally: delivery.emptyTally, left: nil, start: cursor, next: nil))
    return firstPage + pages.count - 1
  }

  private func take(_ devices: [Device], page number: Int) {
    guard !delivery.claim.isFenced else { return cutShort(at: number, because: "fenced") }
    guard pages.indices.contains(number - firstPage) else { return endIfDone() }
    // Before anything is submitted, as a push may end at once.
    pages[number - firstPage].left = devices.count
    switch submit(devices, number) {
    case .refused(let reason):
      delivery.tally.badJobReason = reason
      isStopping = true
      drop(from: number - firstPage)
    case .pushes(let count, let unsupported):
      pages[number - firstPage].left = count
      pages[number - firstPage].tally.recordUnsupported(unsupported)
    }
    commitFinished()
    fetch()
  }

  /// Forgets the page and those behind it: the walk goes on there. None of them was submitted to APNs.
  private func drop(from index: Int) {
    guard pages.indices.contains(index) else { return }
    cursor = pages[index].start
    for token in pages[index...].flatMap(\.named) {
      delivery.tally.leaveOpen(token, reason: delivery.tally.openReason, after: .zero, isFault: true)
    }
    pages.removeSubrange(index...)
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

  private func cutShort(at number: Int? = nil, because error: RedisError) {
    if error.isOfThisCommand { delivery.tally.isFault = false }
    cutShort(at: number, because: "\(error)")
  }

  private func cutShort(at number: Int? = nil, because reason: String) {
    guard !hasEnded else { return }
    delivery.tally.openReason = reason
    if let number { drop(from: number - firstPage) }
    stop()
  }

  private func endIfDone() {
    guard !hasEnded, pages.isEmpty else { return }
    let isWholeWalkDone = isPositioned && cursor == nil
    guard isWholeWalkDone || isStopping || delivery.tally.open.count >= AudienceRun.maximumOpen else { return }
    hasEnded = true
    delivery.isProgressUnknown = !isPositioned
    delivery.isCutShort = !isWholeWalkDone && delivery.tally.badJobReason == nil
    ended()
  }
}
