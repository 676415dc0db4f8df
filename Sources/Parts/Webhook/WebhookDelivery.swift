import EventLoop
import Events

/// Decides what is sent to the webhook, and when. Pure: times come in, actions come out.
///
/// There is one action at a time. ``due(at:)`` answers ``Action/wait(until:)``. Any other action is answered by the
/// function named after it.
struct WebhookDelivery {
  enum Action: Equatable {
    /// Read the entries behind `after`, up to `through`.
    case read(after: String, through: String?)
    /// Read the state that Redis has.
    case reload
    /// Store ``state``. Without it nothing is sent: another process must find the batch.
    case save
    case post(WebhookBatch)
    /// Unix milliseconds.
    case wait(until: Int64)
  }

  /// What an operator should know.
  enum Notice: Equatable {
    /// The first attempt at a batch has failed.
    case failing(String)
    case paused(String)
    /// The receiver accepts events again, after this many milliseconds.
    case resumed(after: Int64)
    /// Events were deleted before they were sent. Nil if it is unknown how many.
    case lost(Int64?)
    /// Entries of the stream are not events.
    case skipped(Int)
    /// Redis has lost its latest changes. It is continued from the state that Redis has.
    case rewound
    /// The stream ends before the cursor, so it is another stream. It is sent from its beginning.
    case restarted
  }

  /// Time after which a receiver that fails is paused.
  static let patience = Duration.seconds(6 * 3600)
  /// Time between two attempts while the receiver is paused.
  static let pausedInterval = Duration.seconds(15 * 60)
  /// Events of this time share a request.
  static let interval = Duration.seconds(1)
  private static let backoff = Backoff(base: .seconds(5), cap: .seconds(15 * 60))
  /// Entries of a full stream. A shorter one is taken to have lost none.
  private static let fullLength: Int64 = 100_000

  private(set) var state: WebhookState
  /// In their order; the caller takes them.
  private(set) var notices: [Notice] = []
  /// The batch that is being sent or waits for its next attempt.
  private(set) var batch: WebhookBatch?
  /// Whether the stream had more than the last page.
  private var hasMore = false
  private var isBatchSaved = false
  /// Whether ``state`` is what Redis had after a page that ended before the cursor.
  private var isReloaded = false

  init(_ state: WebhookState) {
    self.state = state
  }

  mutating func takeNotices() -> [Notice] {
    defer { notices = [] }
    return notices
  }

  /// The next action, at the beginning and after a wait. `now` is unix milliseconds, here and below.
  mutating func due(at now: Int64) -> Action {
    if let time = state.failure?.nextAttemptAt, (now + 1...now + WebhookAnswer.maximumWait.milliseconds).contains(time)
    {
      return .wait(until: time)
    }
    if let batch, isBatchSaved { return .post(batch) }
    return .read(after: state.cursor, through: state.batch?.last)
  }

  // MARK: - Read

  mutating func read(_ page: EventPage, at now: Int64) -> Action {
    guard !EventPage.isBehind(state.cursor, page.lastID) else { return startOver(page, at: now) }
    isReloaded = false
    addLoss(page)
    if let stored = state.batch {
      // Another process has begun to send it.
      guard page.entries.count == stored.count, page.entries.first?.id == stored.first else {
        state.batch = nil
        return .read(after: state.cursor, through: nil)
      }
    }
    hasMore = page.entries.count == EventPage.maximumCount
    guard let batch = WebhookBatch(page.entries, gap: state.gap) else {
      return .wait(until: now + WebhookDelivery.interval.milliseconds)
    }
    if batch.skipped > 0 { notices.append(.skipped(batch.skipped)) }
    guard batch.count > 0 else {
      commit(batch)
      return .save
    }
    self.batch = batch
    state.batch = batch.bounds
    isBatchSaved = false
    return .save
  }

  /// The stream ends before the cursor. A server that has lost its latest changes, for example in a failover, has lost
  /// those of the state, too: then the stream reaches at least the cursor that is stored there. If it does not, it is
  /// another stream.
  private mutating func startOver(_ page: EventPage, at now: Int64) -> Action {
    guard isReloaded else { return .reload }
    isReloaded = false
    state.cursor = EventPage.beginning
    state.position = nil
    state.batch = nil
    notices.append(.restarted)
    return page.length > 0
      ? .read(after: state.cursor, through: nil) : .wait(until: now + WebhookDelivery.interval.milliseconds)
  }

  /// `stored` is the state that Redis has.
  mutating func reloaded(_ stored: WebhookState, at now: Int64) -> Action {
    if EventPage.isBehind(state.cursor, stored.cursor) { notices.append(.rewound) }
    state = stored
    batch = nil
    isBatchSaved = false
    isReloaded = true
    return due(at: now)
  }

  /// Finds out whether entries behind the cursor were deleted.
  private mutating func addLoss(_ page: EventPage) {
    guard let first = page.firstID, EventPage.isBehind(first, state.cursor) else { return }
    guard let total = page.total else {
      guard state.cursor != EventPage.beginning, page.length >= WebhookDelivery.fullLength, state.gap == nil else {
        return
      }
      return addLoss(of: nil)
    }
    let before = total - page.length
    // Entries that were deleted before the first batch are not reported.
    let position = state.position ?? before
    state.position = before
    if before > position { addLoss(of: before - position) }
  }

  private mutating func addLoss(of count: Int64?) {
    notices.append(.lost(count))
    state.lost += count ?? 0
    let earlier = state.gap.map { $0.lost } ?? 0
    if let count, let earlier { state.gap = .init(lost: earlier + count) } else { state.gap = .init(lost: nil) }
  }

  // MARK: - Saved

  mutating func saved(at now: Int64) -> Action {
    if let failure = state.failure { return isBatchSaved ? .wait(until: failure.nextAttemptAt) : post() }
    guard batch == nil else { return post() }
    return hasMore ? due(at: now) : .wait(until: now + WebhookDelivery.interval.milliseconds)
  }

  private mutating func post() -> Action {
    isBatchSaved = true
    guard let batch else { return .read(after: state.cursor, through: nil) }
    return .post(batch)
  }

  // MARK: - Posted

  /// `random` is from 0..<1.
  mutating func posted(_ answer: WebhookAnswer, at now: Int64, random: Double) -> Action {
    guard let batch else { return due(at: now) }
    guard answer.kind == .accepted else {
      fail(answer, at: now, random: random)
      return .save
    }
    state.delivered += Int64(batch.count)
    state.gap = nil
    if let failure = state.failure { notices.append(.resumed(after: now - failure.since)) }
    state.failure = nil
    commit(batch)
    return .save
  }

  private mutating func commit(_ batch: WebhookBatch) {
    state.cursor = batch.bounds.last
    if let position = state.position { state.position = position + Int64(batch.bounds.count) }
    state.batch = nil
    self.batch = nil
    isBatchSaved = false
  }

  private mutating func fail(_ answer: WebhookAnswer, at now: Int64, random: Double) {
    let since = state.failure?.since ?? now
    let attempts = (state.failure?.attempts ?? 0) + 1
    let wasPaused = state.failure?.isPaused ?? false
    let isPaused = wasPaused || answer.kind == .gone || now - since >= WebhookDelivery.patience.milliseconds
    let delay =
      isPaused
      ? WebhookDelivery.pausedInterval : WebhookDelivery.backoff.delay(attempt: attempts, random: random)
    state.failure = .init(
      since: since, attempts: attempts, nextAttemptAt: now + max(delay, answer.wait).milliseconds,
      answer: answer.text, isPaused: isPaused)
    if isPaused, !wasPaused { notices.append(.paused(answer.text)) }
    if !isPaused, attempts == 1 { notices.append(.failing(answer.text)) }
  }
}
