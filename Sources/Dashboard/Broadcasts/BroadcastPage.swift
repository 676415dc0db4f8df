import EventLoop
import Operations
import Jobs
import Queue
import Registry

/// `/broadcasts/{id}`: how far a broadcast has come, how fast it is, and when it ends.
@EventLoop
struct BroadcastPage: DashboardPage {
  let context: DashboardContext

  let path = "/broadcasts/{id}"
  let section = Section.broadcasts
  let actions: [PageAction] = [.pause, .resume, .cancel]

  func subject(of action: PageAction, _ request: PageRequest) -> String { "broadcast \(request.parameter)" }

  func perform(_ action: PageAction, _ request: PageRequest) async throws(PageError) -> ActionOutcome {
    var outcome = try await context.perform(action, onBroadcast: request.parameter, request)
    outcome.location = request.sameLink([("confirm", nil)])
    return outcome
  }

  func show(_ request: PageRequest) async throws(PageError) -> Page {
    guard let status = try await refusingFaults(await context.fleet.broadcast(request.parameter)) else {
      throw .notFound(
        "No broadcast with this id is known. It appears here when a worker claims it, and for some days after it has ended."
      )
    }
    let audience = try await refusingFaults(
      await context.registry.audienceProgress(app: status.entry.app, cursor: status.cursor))
    let view = BroadcastView(status: status, audience: audience)
    var page = Page("Broadcast \(status.entry.id)", summary: "To everyone who is registered for \(status.entry.app).") {
      html in
      html.region("broadcast") { body(view, request, &$0) }
      confirmation(view, request, &html)
    }
    page.refreshes = !view.isOver
    return page
  }

  private func body(_ view: BroadcastView, _ request: PageRequest, _ html: inout HTML) {
    let now = request.now
    if let pause = view.status.pause {
      html.notice(
        "Paused by \(pause.author), \(TimeText.relative(pause.since, now: now)). Its progress is kept.",
        .warn)
    }
    html.figures(figures(view, now: now))
    html.panel("Progress") { html in
      html.append(view.progress)
      html.element("div", ["class": "buttons"]) { html in
        view.buttons(request, &html)
        if !view.isOver { html.confirmLink(request, .cancel, "Cancel…") }
        html.link("The job", to: request.link("jobs", view.entry.id), class: "button")
      }
    }
    html.panel("Facts") { html in
      html.definitions([
        ("State", view.badge), ("Queue", .link(view.entry.queue, request.link("queues", view.entry.queue))),
        ("App", .text(view.entry.app)), ("Started", .content { $0.exactTime(view.entry.startedAt, now: now) }),
        ("Last change", .content { $0.exactTime(view.entry.changedAt, now: now) }),
        ("Worker", view.entry.worker.isEmpty ? .none : .code(view.entry.worker)),
      ])
    }
  }

  private func figures(_ view: BroadcastView, now: Int64) -> [Figure] {
    let passed = Int64(view.isOver ? view.status.accepted + view.status.failed : view.audience?.passed ?? 0)
    let end = view.end(now: now)
    return [
      Figure("Devices", view.audience?.size ?? 0, detail: "in the audience now"),
      Figure("Reached", passed),
      Figure("Accepted", view.status.accepted),
      Figure("Failed", view.status.failed, tone: view.status.failed > 0 ? .warn : nil),
      Figure(
        "Pace", view.status.pace(at: now).map { NumberText.short($0) + " /s" } ?? "–",
        detail: end.map { "ends \(TimeText.relative($0, now: now))" }),
    ]
  }

  private func confirmation(_ view: BroadcastView, _ request: PageRequest, _ html: inout HTML) {
    guard request.query("confirm") == "cancel", !view.isOver, request.may(.cancel) else { return }
    html.confirmation(
      request, .cancel, title: "Cancel this broadcast?", label: "Cancel the broadcast",
      cancel: request.sameLink([("confirm", nil)])
    ) { html in
      let left = Int64((view.audience?.size ?? 0) - (view.audience?.passed ?? 0))
      html.element(
        "p",
        "\(NumberText.count(left, "device gets", "devices get")) no push. What APNs has accepted is delivered. It cannot be resumed."
      )
    }
  }
}
