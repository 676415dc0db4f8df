import Credentials
import EventLoop
import Queue
import Redis

/// `/dead`: the dead letters of all queues, by reason, queue, app and age; requeued or purged one by one or all that match.
@EventLoop
struct DeadPage: DashboardPage {
  nonisolated static let requeue = PageAction("requeue")
  nonisolated static let purge = PageAction("purge", role: .admin)
  nonisolated static let requeueAll = PageAction("requeue-all")
  nonisolated static let purgeAll = PageAction("purge-all", role: .admin)
  nonisolated static let stop = PageAction("stop")
  nonisolated static let goOn = PageAction("continue")

  nonisolated static let pageSize = 25
  /// Boxes that one form may have checked.
  private static let maximumSelected = 100

  let context: DashboardContext
  let path = "/dead"
  let section = Section.dead
  let actions = [requeue, purge, requeueAll, purgeAll, stop, goOn]

  private let runner: BulkRunner
  private let cache: DeadReasonsCache

  init(context: DashboardContext) {
    self.context = context
    runner = BulkRunner(connection: context.connection, log: context.log)
    cache = DeadReasonsCache(connection: context.connection)
  }

  // MARK: - Show

  func show(_ request: PageRequest) async throws(PageError) -> Page {
    let query = try DeadQuery(request, queues: try context.queues(of: request))
    let total = try await total(query.queues)
    let list = try await read(query, request)
    let reasons = try await refusingFaults(await cache.reasons(of: query.queues, now: request.now))
    let operations = try await refusingFaults(await runner.operations.list())
    let preview = try await BulkPreview(query, request, context: context)
    let view = DeadView(
      request: request, query: query, queueField: context.queueField, total: total, list: list, reasons: reasons,
      operations: operations)
    let isRunning = operations.contains { $0.phase == .running }
    var page = Page(
      "Dead letters", summary: "Jobs that were given up and kept, newest first. Requeue them when the cause is removed."
    ) { html in
      view.operations(&html)
      if total > 0 { view.reasons(&html) }
      view.filter(&html)
      if let preview { preview.confirmation(&html) }
      // Otherwise the list stays as it is while letters are chosen.
      if isRunning { html.region("letters") { view.list(&$0) } } else { view.list(&html) }
    }
    page.refreshes = isRunning && preview == nil
    return page
  }

  private func total(_ queues: [String]) async throws(PageError) -> Int64 {
    var total: Int64 = 0
    for reply in await context.connection.exchange(queues.map { RedisCommand("ZCARD", QueueKeys(queue: $0).dead) }) {
      switch reply {
      case .success(let value): total += value.integer ?? 0
      case .failure(let error) where error.isWrongType: break
      case .failure(let error): throw PageError(error)
      }
    }
    return total
  }

  private func read(_ query: DeadQuery, _ request: PageRequest) async throws(PageError) -> MergedList {
    var cursor = MergedList.Cursor(count: query.queues.count)
    if let text = request.query("cursor") {
      guard let read = MergedList.Cursor(text, count: query.queues.count) else { throw .badCursor }
      cursor = read
    }
    var pages: [BrowsedPage?] = []
    for (queue, place) in zip(query.queues, cursor.places) {
      guard place != .end else {
        pages.append(nil)
        continue
      }
      let browser = QueueBrowser(queue: queue, connection: context.connection)
      pages.append(
        try await refusingFaults(
          await browser.dead(query.filter, from: place.position, limit: DeadPage.pageSize)))
    }
    return MergedList(pages, from: cursor, isDescending: true, limit: DeadPage.pageSize)
  }

  // MARK: - Act

  func subject(of action: PageAction, _ request: PageRequest) -> String {
    switch action {
    case DeadPage.requeue, DeadPage.purge:
      return SelectedLetter.description(request.fields("letter").compactMap(SelectedLetter.init))
    case DeadPage.requeueAll, DeadPage.purgeAll:
      let query = try? DeadQuery(request, queues: [])
      let filter = query.flatMap { BulkPreview.filter($0, of: request) }
      return "dead letters of \(request.query("queue") ?? "all queues"): \(filter?.description ?? "no filter")"
    default: return "operation \(request.field("operation") ?? "")"
    }
  }

  func perform(_ action: PageAction, _ request: PageRequest) async throws(PageError) -> ActionOutcome {
    switch action {
    case DeadPage.requeue: try await actOnSelected(.requeue, request)
    case DeadPage.purge: try await actOnSelected(.purge, request)
    case DeadPage.requeueAll: try await actOnAll(.requeue, request)
    case DeadPage.purgeAll: try await actOnAll(.purge, request)
    case DeadPage.stop: try await stop(request)
    default: try await goOn(request)
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
    let hasBegun = try await refusingFaults(
      await runner.start(
        verb, queues: query.queues, filter: filter, by: request.operator.name, now: request.now))
    guard hasBegun else {
      return .refused("Two operations are running. Start this one when one of them has ended. Nothing was done.")
    }
    return .done(
      "\(verb == .requeue ? "Requeueing" : "Purging") has started. This page shows its progress.",
      then: request.sameLink([("confirm", nil), ("cursor", nil)]))
  }

  private func operation(_ request: PageRequest) async throws(PageError) -> DeadLetterOperation {
    guard let operation = try await refusingFaults(await runner.operations.operation(request.field("operation") ?? ""))
    else { throw .notFound("This operation is not known any more.") }
    return operation
  }

  private func stop(_ request: PageRequest) async throws(PageError) -> ActionOutcome {
    let operation = try await operation(request)
    guard operation.phase == .running else {
      throw .movedOn("This operation has moved on: it is \(operation.phase.rawValue). Nothing was changed.")
    }
    try await refusingFaults(await runner.operations.stop(operation.id))
    return .done("The operation stops after the letters that it is working on. What is done stays done.")
  }

  private func goOn(_ request: PageRequest) async throws(PageError) -> ActionOutcome {
    let operation = try await operation(request)
    let action = operation.verb == .purge ? DeadPage.purgeAll : DeadPage.requeueAll
    guard request.may(action) else { throw .forbidden(action.role) }
    guard operation.canContinue(now: request.now), runner.isFree,
      try await refusingFaults(await runner.goOn(operation, now: request.now))
    else { throw .movedOn("This operation has moved on: it is running or done. Nothing was changed.") }
    return .done("The operation continues where it stopped.")
  }
}
