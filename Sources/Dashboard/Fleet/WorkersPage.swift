import EventLoop
import Operations
import Queue
import Redis

/// `/workers`: the workers of the fleet and what each holds; with `?worker=` one of them.
@EventLoop
struct WorkersPage: DashboardPage {
  let context: DashboardContext

  let path = "/workers"
  let section = Section.workers
  let actions: [PageAction] = [.drain, .undrain]

  func show(_ request: PageRequest) async throws(PageError) -> Page {
    let workers = FleetWorker.all(
      try await refusingFaults(await QueueOverview.read(context.queues, from: context.connection)))
    if let name = request.query("worker") { return try await show(name, among: workers, request) }
    return Page("Workers", summary: WorkersPage.summary(workers)) { html in
      html.region("workers") { html in
        html.figures(WorkersPage.figures(workers))
        html.panel("The fleet") { html in
          html.table(table(workers, request), empty: WorkersPage.nobody)
        }
      }
    }
  }

  private nonisolated static let nobody = EmptyState(
    "No worker is running", "Jobs wait in their queues until one is started: martlet worker")

  nonisolated static func summary(_ workers: [FleetWorker]) -> String? {
    let lost = workers.count { $0.report == nil }
    guard lost > 0 else { return nil }
    let subject = lost == 1 ? "One worker has no heartbeat. Its" : "\(lost) workers have no heartbeat. Their"
    return "\(subject) jobs go back to the queue within 20 seconds, and other workers claim them."
  }

  nonisolated static func figures(_ workers: [FleetWorker]) -> [Figure] {
    let reports = workers.compactMap(\.report)
    let rate = reports.jobsPerSecond
    let permits = reports.reduce(0) { $0 + $1.concurrency }
    let taken = reports.reduce(0) { $0 + $1.inFlight }
    return [
      Figure(
        "Running", reports.count, detail: "heartbeat within 15 s",
        tone: reports.isEmpty ? .bad : nil),
      Figure("Jobs a second", NumberText.short(rate), detail: "ended by all workers"),
      Figure("In flight", workers.reduce(0) { $0 + $1.jobsInFlight }, detail: "jobs claimed, not ended"),
      Figure(
        "Permits taken", "\(NumberText.grouped(taken)) of \(NumberText.grouped(permits))",
        detail: "pushes that may be in flight", tone: permits > 0 && taken >= permits ? .warn : nil),
    ]
  }

  private func table(_ workers: [FleetWorker], _ request: PageRequest) -> Table {
    var table = Table(
      "Workers",
      columns: [
        .text("Worker"), .text("State"), .number("Jobs a second"), .number("In flight"), .text("Permits"),
        .number("Redis"), .text("Version"), .text("Started"), .actions(),
      ], isCaptionHidden: true)
    for worker in workers {
      let report = worker.report
      table.row(
        .link(worker.name, request.link("workers", query: [("worker", worker.name)])), WorkersPage.state(worker),
        report.map { .text(NumberText.short($0.jobsPerSecond)) } ?? .none, .number(worker.jobsInFlight),
        report.map(WorkersPage.permits) ?? .none,
        report?.redisMicroseconds.map { .text(MicrosecondsText.text($0)) } ?? .none,
        report.map { $0.version.isEmpty ? .none : .text($0.version) } ?? .none,
        report.map { .time($0.startedAt, now: request.now) } ?? .none, .content { control(worker, request, &$0) })
    }
    return table
  }

  /// Appends the button that drains the worker, or lets it claim again.
  private func control(_ worker: FleetWorker, _ request: PageRequest, _ html: inout HTML) {
    guard let report = worker.report else { return }
    html.actionForm(
      request, report.isDraining ? .undrain : .drain, report.isDraining ? "Undrain" : "Drain",
      fields: [("worker", worker.name)], describedBy: worker.name)
  }

  nonisolated static func state(_ worker: FleetWorker) -> Cell {
    guard let report = worker.report else { return .badge("no heartbeat", .bad) }
    if report.isDraining { return .badge(worker.jobsInFlight > 0 ? "draining" : "drained", .warn) }
    if !report.pausedRoutes.isEmpty { return .badge("route paused", .warn) }
    return report.appStates.isEmpty ? .badge("polling only", .info) : .badge("working", .good)
  }

  nonisolated static func permits(_ report: WorkerReport) -> Cell {
    .content { html in
      html.progress(
        done: Int64(report.inFlight), total: Int64(report.concurrency), label: "Permits taken",
        text: "\(NumberText.grouped(report.inFlight)) of \(NumberText.grouped(report.concurrency))")
    }
  }

  // MARK: - Actions

  func subject(of action: PageAction, _ request: PageRequest) -> String { "worker \(request.named("worker"))" }

  func perform(_ action: PageAction, _ request: PageRequest) async throws(PageError) -> ActionOutcome {
    guard let name = request.field("worker") else {
      throw .badRequest("The form names no worker. Nothing was changed.")
    }
    guard action == .drain else {
      guard try await refusingFaults(await context.fleet.undrain(name)) else {
        throw .movedOn("The worker \(name) was not drained. Nothing was changed.")
      }
      return .done("The worker \(name) claims jobs again.")
    }
    guard try await refusingFaults(await context.fleet.drain(name)) else {
      throw .movedOn("There is no worker \(name) any more. Nothing was changed.")
    }
    return .done("The worker \(name) claims no more jobs. It finishes those in flight and keeps running.")
  }

  // MARK: - One worker

  private func show(
    _ name: String, among workers: [FleetWorker], _ request: PageRequest
  ) async throws(PageError) -> Page {
    guard let worker = workers.first(where: { $0.name == name }) else {
      throw .notFound(
        "No worker has this name. A worker that ends leaves the list, and one that lost its lease continues under another name."
      )
    }
    let jobs = try await JobsInFlight.read(worker, context)
    return Page("Worker \(worker.name)") { html in
      html.element("p") { $0.link("All workers", to: request.link("workers")) }
      html.region("worker") { html in
        html.panel("State") { html in
          html.definitions(definitions(worker, request))
          control(worker, request, &html)
        }
        html.panel("Jobs in flight") { html in
          html.table(inFlightTable(worker, request), empty: EmptyState("No job is in flight"))
          for queue in jobs { queue.append(request, to: &html) }
        }
        if let report = worker.report {
          AppsPage.problems([report], &html)
          html.panel("Apps") { html in
            html.table(
              AppsPage.table(FleetApp.merged([report]), audience: [:]),
              empty: EmptyState(
                "This worker pushes to no app", "No APNs key is configured. Its notifications can be polled."))
          }
        }
      }
    }
  }

  private func definitions(_ worker: FleetWorker, _ request: PageRequest) -> [(String, Cell)] {
    var entries: [(String, Cell)] = [("State", WorkersPage.state(worker))]
    if let process = worker.process {
      entries += [("Host", .code(process.host)), ("Process", .code(process.pid))]
    }
    guard let report = worker.report else { return entries }
    entries += [
      ("Version", report.version.isEmpty ? .none : .text(report.version)),
      ("Started", .content { $0.exactTime(report.startedAt, now: request.now) }),
      ("Jobs ended", .number(report.jobs)), ("Jobs a second", .text(NumberText.short(report.jobsPerSecond))),
      ("Permits", WorkersPage.permits(report)), ("Jobs in memory", .number(report.outstanding)),
      ("Redis answers in", report.redisMicroseconds.map { .text(MicrosecondsText.text($0)) } ?? .none),
      ("Stale tokens removed", .number(report.removedTokens)),
    ]
    return entries
  }

  private func inFlightTable(_ worker: FleetWorker, _ request: PageRequest) -> Table {
    var table = Table("Jobs in flight by queue", columns: [.text("Queue"), .number("Jobs")], isCaptionHidden: true)
    for part in worker.inFlight {
      table.row(.link(part.queue, request.link("queues", part.queue)), .number(part.jobs))
    }
    return table
  }
}

/// Short durations as people read them.
enum MicrosecondsText {
  /// `450 µs`, `3.2 ms`, `120 ms`, `2 s`.
  static func text(_ microseconds: Int64) -> String {
    switch microseconds {
    case ..<1000: "\(max(0, microseconds)) µs"
    case ..<1_000_000: "\(NumberText.short(Double(microseconds) / 1000)) ms"
    default: TimeText.duration(microseconds / 1000)
    }
  }
}
