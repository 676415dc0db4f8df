import Credentials
import EventLoop
import Operations
import Queue
import Redis

/// `/dead`: the dead letters of all queues, by reason, queue, app and age; requeued or purged one by one or all that match.
@EventLoop
struct DeadPage: DashboardPage {
  nonisolated static let pageSize = 25
  /// Boxes that one form may have checked.
  private static let maximumSelected = 100

  let context: DashboardContext
  let path = "/dead"
  let section = Section.dead
  let actions: [PageAction] = [.requeue, .purge, .requeueAll, .purgeAll]

  private let cache: DeadReasonsCache

  init(context: DashboardContext) {
    self.context = context
    cache = DeadReasonsCache(connection: context.connection)
  }

  // MARK: - Show

  func show(_ request: PageRequest) async throws(PageError) -> Page {
    let query = try DeadQuery(request, queues: try context.queues(of: request))
    let counts = try await refusingFaults(
      await context.connection.replies(to: query.queues.map { RedisCommand("ZCARD", QueueKeys(queue: $0).dead) }))
    let total = counts.reduce(0) { $0 + ($1.integer ?? 0) }
    let list = try await MergedList.read(query.queues, request, isDescending: true, limit: DeadPage.pageSize) {
      (queue, position) async throws(RedisError) -> BrowsedPage in
      try await QueueBrowser(queue: queue, connection: context.connection)
        .dead(query.filter, from: position, limit: DeadPage.pageSize)
    }
    let reasons = try await refusingFaults(await cache.reasons(of: query.queues, now: request.now))
    let preview = try await BulkPreview(query, request, context: context)
    let view = DeadView(
      request: request, query: query, queueField: context.queueField, total: total, list: list, reasons: reasons)
    return Page(
      "Dead letters", summary: "Jobs that were given up and kept, newest first. Requeue them when the cause is removed."
    ) { html in
      if total > 0 { view.reasons(&html) }
      view.filter(&html)
      if let preview { preview.confirmation(&html) }
      view.list(&html)
    }
  }

  // MARK: - Act

  func subject(of action: PageAction, _ request: PageRequest) -> String {
    switch action {
    case .requeue, .purge:
      return SelectedLetter.description(request.fields("letter").compactMap(SelectedLetter.init))
    default:
      let query = try? DeadQuery(request, queues: [])
      let filter = query.flatMap { BulkPreview.filter($0, of: request) }
      return
        "dead letters of \(request.query("queue") ?? "all queues"): \(filter?.description ?? "a filter that is not valid")"
    }
  }

  func perform(_ action: PageAction, _ request: PageRequest) async throws(PageError) -> ActionOutcome {
    switch action {
    case .requeue: try await actOnSelected(.requeue, request)
    case .purge: try await actOnSelected(.purge, request)
    case .requeueAll: try await actOnAll(.requeue, request)
    default: try await actOnAll(.purge, request)
    }
  }

  private func actOnSelected(
    _ verb: DeadLetterVerb, _ request: PageRequest
  ) async throws(PageError) -> ActionOutcome {
    var letters: [SelectedLetter] = []
    for text in request.fields("letter").prefix(DeadPage.maximumSelected) {
      guard let letter = SelectedLetter(text), context.queues.contains(letter.queue) else {
        throw .badRequest("The form names no dead letter of this fleet. Nothing was done.")
      }
      letters.append(letter)
    }
    guard !letters.isEmpty else { return .refused("No letter was selected. Nothing was done.") }
    return try await LetterActions(context: context).act(verb, on: letters)
  }

  private func actOnAll(_ verb: DeadLetterVerb, _ request: PageRequest) async throws(PageError) -> ActionOutcome {
    let query = try DeadQuery(request, queues: try context.queues(of: request))
    guard let filter = BulkPreview.filter(query, of: request) else {
      throw .badRequest("The form does not say which letters were shown. Nothing was done.")
    }
    let sweep = await DeadLetterSweep.run(verb, filter, queues: query.queues, connection: context.connection)
    if let fault = sweep.fault {
      let text = "\(verb.past) \(sweep.done) letters before Redis failed. Try again to continue."
      throw LetterActions.interrupted(sweep.done > 0 ? text : nil, by: fault)
    }
    let isOver = sweep.left == 0
    return .done(
      LetterActions.sentence(verb, sweep),
      then: request.sameLink([
        ("confirm", isOver ? nil : verb.rawValue), ("until", isOver ? nil : filter.until.map { String($0) }),
        ("cursor", nil),
      ]))
  }
}
