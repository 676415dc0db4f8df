import Credentials
import Dashboard
import Operations
import PushModel
import Registry

/// What is known of a Live Activity: findings, newest states, update tokens.
struct ActivityView {
  /// Rows of a table, at most.
  private static let maximumRows = 50

  let explanation: ActivityExplanation
  let request: PageRequest

  func body(_ html: inout HTML) {
    // Facts of states and tokens are in the tables.
    var summary = explanation.summary
    summary.findings.removeAll { $0.severity == .fact && (!explanation.states.isEmpty || $0.subject != nil) }
    FindingsPanel(explanation: summary, request: request).append(to: &html)
    guard explanation.isKnown else { return }
    html.panel("Newest states") { html in
      html.table(states, empty: EmptyState("No state yet", "No job has updated or ended the activity."))
      rest(explanation.states.count, &html)
      html.element("p", "Started on \(NumberText.count(explanation.starts, "device")).")
    }
    html.panel("Update tokens") { html in
      html.table(
        tokens,
        empty: EmptyState(
          "No update token is registered",
          explanation.channel.map { "Channel \($0) updates the activity." }
            ?? "The newest state waits until the app registers one."))
      rest(explanation.tokens.count, &html)
      if request.operator.role == .admin, !explanation.tokens.isEmpty {
        html.element("p", ["class": "links"]) { $0.wholeTokensLink(request) }
      }
    }
  }

  private func rest(_ count: Int, _ html: inout HTML) {
    guard count > ActivityView.maximumRows else { return }
    html.element("p", "\(NumberText.grouped(count - ActivityView.maximumRows)) more are not shown.")
  }

  private var states: Table {
    var table = Table(
      "Newest states",
      columns: [
        .text("Of"), .text("Event"), .text("Job"), .text("Phase"), .text("Since"), .text("Until"), .number("Reached"),
      ], isCaptionHidden: true)
    for state in explanation.states.prefix(ActivityView.maximumRows) {
      table.row(
        state.user.map { .link($0.text, request.link("devices", query: [("user", $0.text)])) } ?? .text("all users"),
        .text(state.isEnd ? "end" : "update"),
        .content { $0.jobLink(state.job, to: request.link("jobs", state.job)) },
        .badge(state.phase, state.phase == "waiting" ? .warn : .neutral), .time(state.since, now: request.now),
        state.until.map { .time($0, now: request.now) } ?? .none, .number(state.reached))
    }
    return table
  }

  private var tokens: Table {
    var table = Table(
      "Update tokens",
      columns: [
        .text("Token"), .text("Owner"), .text("App"), .text("Environment"), .text("Phone"), .text("Frequent updates"),
        .text("Newest state"), .text("Registered"),
      ], isCaptionHidden: true)
    for token in explanation.tokens.prefix(ActivityView.maximumRows) {
      let device = token.device
      table.row(
        .content { html in
          html.element("code", ["class": request.showsWholeTokens ? "token whole" : "token"], token.name)
        },
        device.username.map { .link($0.text, request.link("devices", query: [("user", $0.text)])) }
          ?? .text("anonymous"),
        device.bundleID.map { .code($0) } ?? .text("no app"), .text(device.environment?.rawValue ?? "unknown"),
        device.deviceID.map { .code($0) } ?? .none, device.frequentPushes.map { .text($0 ? "yes" : "no") } ?? .none,
        token.isCurrent.map { .badge($0 ? "shown" : "not yet", $0 ? .good : .warn) } ?? .none,
        .time(device.updatedAt, now: request.now))
    }
    return table
  }
}
