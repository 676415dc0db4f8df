import Credentials
import Dashboard
import EventLoop
import Jobs
import Redis

/// `/policies`: the delivery policies with their rules; with `?instance=` what the instance has used, and what would happen now.
@EventLoop
struct PoliciesPage: DashboardPage {
  let context: DashboardContext
  let policies: [DeliveryPolicy]

  let path = "/policies"
  let section = Section("Policies", in: "Delivery")

  func show(_ request: PageRequest) async throws(PageError) -> Page {
    var states: [PolicyState] = []
    let instance = try PoliciesPage.instance(request)
    if let instance { states = try await refusingFaults(await self.states(of: instance)) }
    return Page(instance.map { "Policies for \($0)" } ?? "Policies", summary: PoliciesPage.summary) { html in
      html.filterForm(
        request, [FilterField("instance", "Instance", .text(placeholder: "home-1"))], button: "Show what it has used")
      if let instance {
        html.element("p") { html in
          html.link("Devices of \(instance)", to: request.link("devices", query: [("instance", instance)]))
          html.text(" · ")
          html.link("All policies", to: request.link("policies"))
        }
        html.region("use") { html in
          for (policy, state) in zip(policies, states) {
            InstancePanel(policy: policy, state: state, request: request).append(to: &html)
          }
        }
      }
      for policy in policies { rules(of: policy, &html) }
    }
  }

  private nonisolated static let summary =
    "A policy decides when a job with a class is sent to an instance, held or suppressed."

  private static func instance(_ request: PageRequest) throws(PageError) -> String? {
    guard let text = request.query("instance") else { return nil }
    guard let id = Credential.normalized(text, of: .instance) else {
      throw .badRequest("This is not a valid instance id.")
    }
    return id
  }

  /// The state of every policy, in the order of the policies.
  private func states(of instance: String) async throws(RedisError) -> [PolicyState] {
    let commands = policies.map { RedisCommand("GET", PolicyKeys.state($0.name, instance: instance)) }
    return try await context.connection.replies(to: commands).map { PolicyState(json: $0.contents ?? []) }
  }

  private func rules(of policy: DeliveryPolicy, _ html: inout HTML) {
    var table = Table(
      "Classes of \(policy.name)",
      columns: [
        .text("Class"), .text("Urgency"), .text("Collapse"), .text("Spacing"), .text("In quiet hours"),
        .text("Text without a preview"),
      ])
    for entry in policy.classes {
      let spacing = PolicyTexts.span(entry.spacingSeconds)
      let collapse = PolicyTexts.collapse(entry.collapse)
      table.row(
        .name(entry.name), .text(entry.urgency.rawValue), collapse.isEmpty ? .none : .text(collapse),
        spacing.isEmpty ? .none : .text(spacing), .text(PolicyTexts.quiet(entry.quiet)), .text(entry.preview))
    }
    html.panel("Policy \(policy.name)") { html in
      html.definitions(PolicyTexts.rules(of: policy))
      html.table(table)
    }
  }
}
