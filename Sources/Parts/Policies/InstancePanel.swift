import Dashboard
import Jobs
import Operations

/// What an instance has used of one policy.
struct InstancePanel {
  let policy: DeliveryPolicy
  let state: PolicyState
  let request: PageRequest

  /// The latest notifications that are listed.
  private static let maximumListed = 25

  func append(to html: inout HTML) {
    html.panel("What \(policy.name) allows now") { html in
      html.table(forecast)
      html.table(limits)
      if let held = state.held, held.until > request.now {
        html.notice("A job is held until \(TimeText.exact(held.until)); other jobs to hold are suppressed.", .info)
      }
      html.table(
        sent, empty: EmptyState("Nothing was sent lately", "No rule of this policy remembers a notification."))
    }
  }

  private var forecast: Table {
    var table = Table(
      "What would happen to a job of each class now", columns: [.text("Class"), .text("Decision"), .text("Why")])
    for forecast in policy.forecasts(state, now: request.now, localTime: .system) {
      let text = PolicyTexts.decision(forecast.decision)
      table.row(.name(forecast.className), .badge(text.label, text.tone), .text(text.why))
    }
    return table
  }

  private var limits: Table {
    var table = Table("Limits", columns: [.text("Limit"), .text("Used"), .text("One more is allowed")])
    for limit in policy.usage(of: state, now: request.now) {
      table.row(
        .text(PolicyTexts.limit(limit.limit)),
        .content { html in
          html.progress(
            done: Int64(limit.used), total: Int64(limit.limit.count), label: "Used",
            text: "\(limit.used) of \(limit.limit.count)")
        }, limit.fullUntil.map { .time($0, now: request.now) } ?? .text("now"))
    }
    return table
  }

  private var sent: Table {
    var table = Table("Sent lately", columns: [.text("Class"), .text("When")])
    for grant in state.grants.sorted(by: { $0.at > $1.at }).prefix(InstancePanel.maximumListed) {
      table.row(
        .name(grant.className), .content { $0.exactTime(grant.at, now: request.now) })
    }
    return table
  }
}
