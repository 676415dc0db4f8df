import EventLoop
import Operations
import PushModel
import Queue
import Redis

/// `/`: whether all is well, and the numbers that matter.
@EventLoop
struct OverviewPage: DashboardPage {
  private static let reasonsShown = 8

  let context: DashboardContext

  let path = "/"
  let section = Section.overview

  func show(_ request: PageRequest) async throws(PageError) -> Page {
    let state = try await refusingFaults(
      await FleetState.read(context.queues, context.statuses, from: context.connection))
    let findings = state.findings(now: request.now)
    return Page("Overview") { html in
      html.region("health") { health(findings, state, &$0) }
      html.region("figures") { $0.figures(OverviewPage.figures(state, request)) }
      html.region("charts") { html in
        html.element("div", ["class": "charts"]) { html in
          html.element("div", ["class": "panel"]) { $0.chart(BarChart(minutes: state.minutes), id: "chart-hour") }
          html.element("div", ["class": "panel"]) { $0.chart(BarChart(hours: state.hours), id: "chart-days") }
        }
      }
      html.region("queues") { html in
        html.panel("Queues") { $0.table(queues(state, request)) }
      }
      html.region("details") { html in
        html.panel("Refused by APNs, last hour") { refusals(state, &$0) }
        html.element("div", ["class": "columns"]) { html in
          html.panel("APNs") { html in
            gateways(state, &html)
            routes(state, request, &html)
          }
          html.panel("Redis") { redis(state, &$0) }
        }
      }
    }
  }

  private func health(_ findings: [Finding], _ state: FleetState, _ html: inout HTML) {
    guard let first = findings.first else {
      return html.notice(OverviewPage.wellText(state), .good)
    }
    html.notice(first.text, first.severity == .problem ? .bad : .warn, fix: first.fix)
    guard findings.count > 1 else { return }
    html.details("\(findings.count - 1) more to look at", id: "findings") { html in
      for finding in findings.dropFirst() {
        html.notice(finding.text, finding.severity == .problem ? .bad : .warn, fix: finding.fix)
      }
    }
  }

  private static func wellText(_ state: FleetState) -> String {
    let workers = NumberText.count(state.workers.count, "worker")
    let accepted = NumberText.count(state.lastHour.accepted, "push", "pushes")
    return "All is well: \(workers), no backlog, \(accepted) accepted by APNs in the last hour."
  }

  private static func figures(_ state: FleetState, _ request: PageRequest) -> [Figure] {
    let hour = state.lastHour
    let ages = state.queues.compactMap { $0.age(now: request.now) }
    return [
      Figure(
        "Accepted, last hour", hour.accepted, detail: "\(NumberText.short(hour.perSecond(hour.accepted))) a second"),
      Figure(
        "Refused, last hour", hour.failed, detail: "\(NumberText.count(hour.retries, "retry", "retries")) planned",
        tone: hour.failed > 0 ? .warn : nil),
      Figure("Median latency, last hour", latency(hour.latency.quantile(0.5)), detail: latencyDetail(hour.latency)),
      Figure(
        "Waiting", state.waiting, detail: ages.max().map { "oldest \(TimeText.duration($0))" },
        link: request.link("queues")),
      Figure("Time to drain", drain(state), detail: "\(NumberText.short(state.jobsPerSecond)) jobs a second"),
      Figure("Later", state.later, detail: "scheduled and retries", link: request.link("scheduled")),
      Figure(
        "Dead letters", state.dead, detail: "given up, kept", tone: state.dead > 0 ? .warn : nil,
        link: request.link("dead")),
      Figure(
        "Workers", "\(state.workers.count)", detail: "\(NumberText.grouped(state.inFlight)) jobs in flight",
        tone: state.workers.isEmpty ? .bad : nil, link: request.link("workers")),
    ]
  }

  private static func latency(_ milliseconds: Double?) -> String {
    milliseconds.map { $0 < 10 ? "\(NumberText.short($0)) ms" : TimeText.duration(Int64($0)) } ?? "–"
  }

  private static func latencyDetail(_ latency: LatencyCounts) -> String {
    guard let high = latency.quantile(0.95) else { return "no job with enqueuedAt" }
    return "95 % within \(self.latency(high))"
  }

  private static func drain(_ state: FleetState) -> String {
    guard let seconds = state.drainSeconds else { return "–" }
    if seconds >= DrainTime.maximumSeconds { return "over 1 h" }
    return seconds < 1 ? "under 1 s" : TimeText.duration(Int64(seconds * 1000))
  }

  private func queues(_ state: FleetState, _ request: PageRequest) -> Table {
    var table = Table(
      "Jobs of each queue by state",
      columns: [
        .text("Queue"), .number("Waiting"), .number("Oldest"), .number("In flight"), .number("Retry"),
        .number("Scheduled"), .number("Dead"),
      ], isCaptionHidden: true)
    for overview in state.queues {
      table.row(
        .content { html in
          html.link(overview.queue, to: request.link("queues", overview.queue))
          if overview.pause != nil {
            html.text(" ")
            html.badge("paused", .warn)
          }
        }, .number(overview.waiting),
        overview.ageCell(now: request.now), .number(overview.inFlight),
        .number(overview.retry), .number(overview.scheduled), .number(overview.dead))
    }
    return table
  }

  private func refusals(_ state: FleetState, _ html: inout HTML) {
    let reasons = state.lastHour.refusals.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
    let most = max(1, reasons.first?.value ?? 0)
    var table = Table(
      "Refusals by reason", columns: [.text("Reason"), .number("Count"), .text("What it means")],
      isCaptionHidden: true)
    for (reason, count) in reasons.prefix(OverviewPage.reasonsShown) {
      table.row(
        .content { html in
          html.text(reason)
          html.shareBar(percent: Double(count) * 100 / Double(most))
        }, .number(count), PushReason.of(reason).meaning.map { .text($0) } ?? .none)
    }
    html.table(
      table, empty: EmptyState("Nothing was refused", "APNs accepted every push of the last hour."))
  }

  private func gateways(_ state: FleetState, _ html: inout HTML) {
    var table = Table(
      "Connections to APNs",
      columns: [.text("Gateway"), .text("Environment"), .text("State"), .number("Connections"), .number("Workers")],
      isCaptionHidden: true)
    for gateway in state.gateways {
      let state: Cell =
        gateway.unreachable > 0
        ? .badge("out of reach for \(gateway.unreachable)", .bad)
        : gateway.connections > 0 ? .badge("connected", .good) : .badge("no connection", .neutral)
      table.row(
        .name(gateway.url), .text(gateway.environment.rawValue), state, .number(Int64(gateway.connections)),
        .number(Int64(gateway.workers)))
    }
    html.table(
      table,
      empty: EmptyState("No connection to APNs", "A worker opens one when it starts, or with an app's first push."))
  }

  private func routes(_ state: FleetState, _ request: PageRequest, _ html: inout HTML) {
    var table = Table(
      "Routes to APNs with a problem",
      columns: [.text("Topic"), .text("State"), .text("Reason"), .text("Since"), .number("Workers")],
      isCaptionHidden: true)
    for (routes, title, tone) in [
      (state.pausedRoutes, "paused", Tone.bad), (state.stoppedRemovals, "tokens kept", .warn),
    ] {
      for route in routes {
        let notice = route.notice
        table.row(
          .text("\(notice.topic) (\(notice.environment.rawValue))"), .badge(title, tone), .text(notice.reason),
          .time(notice.since, now: request.now), .number(route.workers))
      }
    }
    html.table(
      table, empty: EmptyState("No route is paused", "Workers that cannot reach APNs claim no jobs; see Workers."))
    html.element("p") { $0.link("Apps, keys and topics", to: request.link("apps")) }
  }

  private func redis(_ state: FleetState, _ html: inout HTML) {
    for (place, server) in state.servers.enumerated() {
      if state.servers.count > 1 { html.element("h3", "Server \(place + 1)") }
      html.definitions(OverviewPage.facts(server))
    }
  }

  private static func facts(_ server: ServerInfo) -> [(String, Cell)] {
    let memory = server.usedMemory.map { used in
      let limit = server.maximumMemory.flatMap { $0 > 0 ? NumberText.bytes($0) : nil }
      return "\(NumberText.bytes(used)) of \(limit ?? "no limit")"
    }
    let facts: [(String, String?)] = [
      ("Version", server.engine.version.map { _ in "\(server.engine.summary), \(server.role ?? "")" }),
      ("Memory", memory),
      ("Policy", server.memoryPolicy), ("Persistence", server.persistence),
      ("Connections", server.clients.map { NumberText.grouped($0) }),
      ("Commands", server.commandsPerSecond.map { "\(NumberText.grouped($0)) a second" }),
      ("Up for", server.uptime.map { TimeText.duration($0 * 1000) }),
    ]
    return facts.compactMap { name, value in value.map { (name, Cell.text($0)) } }
  }
}
