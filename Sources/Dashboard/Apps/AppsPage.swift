import EventLoop
import Operations
import PushModel
import Queue

/// `/apps`: how the pushes of each app reach APNs, and what prevents it.
@EventLoop
struct AppsPage: DashboardPage {
  let context: DashboardContext
  private let audiences = AudienceSizes()

  let path = "/apps"
  let section = Section.apps

  func show(_ request: PageRequest) async throws(PageError) -> Page {
    let workers = try await refusingFaults(await QueueOverview.read(context.queues, from: context.connection)).workers
    let reports = workers.sorted { $0.key < $1.key }.map(\.value)
    let apps = FleetApp.merged(reports)
    let audience = try await refusingFaults(
      await audiences.sizes(of: apps.flatMap(\.audiences), from: context.connection, now: request.now))
    return Page("Apps", summary: AppsPage.summary(reports, apps)) { html in
      html.region("apps") { html in
        AppsPage.problems(reports, &html)
        if !apps.isEmpty { html.figures(AppsPage.figures(reports, apps, audience)) }
        html.panel("All apps") { html in
          html.table(AppsPage.table(apps, audience: audience), empty: AppsPage.nothing(reports))
        }
        for (number, app) in apps.enumerated() { AppPanel(app: app).append(number, to: &html) }
      }
    }
  }

  nonisolated static func summary(_ reports: [WorkerReport], _ apps: [FleetApp]) -> String? {
    guard !apps.isEmpty else { return nil }
    let paused = apps.count { !$0.paused.isEmpty }
    let unreachable = apps.count { $0.gateways.contains { $0.unreachable > 0 } }
    if unreachable > 0 { return "APNs is out of reach for \(NumberText.count(unreachable, "app"))." }
    if paused > 0 { return "APNs refuses pushes of \(NumberText.count(paused, "app")). Their jobs are kept." }
    return "Nothing prevents the pushes of any app."
  }

  private nonisolated static func nothing(_ reports: [WorkerReport]) -> EmptyState {
    reports.isEmpty
      ? EmptyState("No worker is running", "Workers report the apps that they push to.")
      : EmptyState(
        "Polling only", "No worker has an APNs key: set APNS_KEY_ID and the other APNS_* settings, or MARTLET_APPS.")
  }

  private nonisolated static func figures(
    _ reports: [WorkerReport], _ apps: [FleetApp], _ audience: [String: Int64]
  ) -> [Figure] {
    let paused = apps.reduce(0) { $0 + $1.paused.count }
    return [
      Figure("Devices", audience.values.reduce(0, +), detail: "of kind app, registered for these apps"),
      Figure("Connections", apps.reduce(0) { $0 + $1.connections }, detail: "to APNs, open"),
      Figure(
        "Paused routes", paused, detail: "tried again once a minute",
        tone: paused > 0 ? .bad : nil),
      Figure(
        "Tokens removed", reports.reduce(0) { $0 + $1.removedTokens },
        detail: "stale, since the workers started"),
    ]
  }

  nonisolated static func table(_ apps: [FleetApp], audience: [String: Int64]) -> Table {
    var table = Table(
      "Apps",
      columns: [
        .text("App"), .text("State"), .text("Team"), .number("Devices"), .number("In flight"), .number("Connections"),
        .number("Tokens removed"),
      ], isCaptionHidden: true)
    for app in apps {
      let devices = app.audiences.compactMap { audience[$0] }
      table.row(
        .name(app.name), state(app), app.team.isEmpty ? .none : .code(app.team),
        devices.isEmpty ? .none : .number(devices.reduce(0, +)), .number(app.inFlight), .number(app.connections),
        .number(app.removedTokens))
    }
    return table
  }

  nonisolated static func state(_ app: FleetApp) -> Cell {
    if app.gateways.contains(where: { $0.unreachable > 0 }) { return .badge("out of reach", .bad) }
    if !app.paused.isEmpty { return .badge("route paused", .bad) }
    if app.keys.contains(where: { $0.state == .refused }) { return .badge("key refused", .warn) }
    if !app.stoppedRemovals.isEmpty { return .badge("tokens kept", .warn) }
    if app.slow != nil { return .badge("slow", .warn) }
    return app.gateways.isEmpty ? .badge("no push yet", .neutral) : .badge("in order", .good)
  }

  /// Appends what an operator should look at, each with its fix.
  nonisolated static func problems(_ reports: [WorkerReport], _ html: inout HTML) {
    for paused in FleetRoute.paused(reports) {
      let route = paused.notice
      html.notice(
        "The route \(route.topic) in \(route.environment.rawValue) is paused: APNs answers \(route.reason). Its jobs are kept, and one push a minute tries it again. "
          + "Since \(TimeText.exact(route.since)).", .bad, fix: paused.fix)
    }
    for stopped in FleetRoute.stoppedRemovals(reports) {
      let route = stopped.notice
      html.notice(
        "Most tokens of \(route.topic) in \(route.environment.rawValue) are refused (\(route.reason)), so none is removed. Pushes are still sent. "
          + "Since \(TimeText.exact(route.since)).", .warn, fix: stopped.fix)
    }
  }
}
