import Credentials
import EventLoop
import JSON

/// `/credentials`: who may call the HTTP APIs and use the dashboard. Shows no secret and no digest.
@EventLoop
struct CredentialsPage: DashboardPage {
  private static let disable = PageAction("disable", role: .admin)
  private static let enable = PageAction("enable", role: .admin)
  private static let revoke = PageAction("revoke", role: .admin)
  private static let rowsOfPage = 100

  let context: DashboardContext

  let path = "/credentials"
  let section = Section.credentials
  let actions = [disable, enable, revoke]

  func show(_ request: PageRequest) async throws(PageError) -> Page {
    let kind = try kind(request.query("kind") ?? Credential.Kind.operator.rawValue)
    let cursor = try Cursor.scan(request.query("cursor"))
    let part = try await refusingFaults(
      await context.credentials.part(kind, cursor: cursor, count: CredentialsPage.rowsOfPage))
    let uses = try await refusingFaults(await context.lastUses.read(kind, part.credentials.map(\.name)))
    let wanted = request.query("revoke").flatMap { name in part.credentials.first { $0.name == name } }
    return Page(
      "Credentials", summary: "Who may call the HTTP APIs, and who may use this dashboard. Secrets are never shown."
    ) { html in
      html.tabs(
        "Kinds of credentials",
        [Credential.Kind.operator, .key, .user, .instance].map { other in
          let link = request.link("credentials", query: [("kind", other.rawValue)])
          return (CredentialsPage.title(other), link, other == kind)
        })
      if let wanted { confirmation(request, wanted, &html) }
      html.region("credentials") { html in
        html.panel(CredentialsPage.title(kind)) { html in
          html.table(table(request, kind, part.credentials, uses), empty: CredentialsPage.empty(kind))
          html.pager(request, first: cursor == "0", next: part.next)
        }
      }
    }
  }

  func subject(of action: PageAction, _ request: PageRequest) -> String {
    "\(request.field("kind") ?? "credential") \(request.named("name"))"
  }

  func perform(_ action: PageAction, _ request: PageRequest) async throws(PageError) -> ActionOutcome {
    let kind = try kind(request.field("kind") ?? "")
    guard let name = request.field("name") else { throw .badRequest("The form names no credential.") }
    guard kind != .operator || name != request.operator.name || action == CredentialsPage.enable else {
      return .refused("You cannot revoke or disable your own access. Another admin can.")
    }
    let list = request.link("credentials", query: [("kind", kind.rawValue)])
    switch action {
    case CredentialsPage.revoke:
      let isFound = try await refusingFaults(await context.credentials.revoke(kind, name))
      return isFound ? .done("Revoked \(kind.rawValue) \(name).", then: list) : gone(kind, name)
    default:
      let isEnabled = action == CredentialsPage.enable
      let isFound = try await refusingFaults(await context.credentials.setEnabled(isEnabled, kind, name))
      return isFound
        ? .done("\(isEnabled ? "Enabled" : "Disabled") \(kind.rawValue) \(name).", then: list) : gone(kind, name)
    }
  }

  private func gone(_ kind: Credential.Kind, _ name: String) -> ActionOutcome {
    .refused("There is no \(kind.rawValue) \(name) any more.")
  }

  private func kind(_ text: String) throws(PageError) -> Credential.Kind {
    guard let kind = Credential.Kind(rawValue: text) else { throw .badRequest("There is no such kind of credential.") }
    return kind
  }

  private func confirmation(_ request: PageRequest, _ credential: Credential, _ html: inout HTML) {
    html.confirmation(
      request, CredentialsPage.revoke, title: "Revoke \(credential.kind.rawValue) \(credential.name)?",
      label: "Revoke \(credential.name)",
      fields: [("kind", credential.kind.rawValue), ("name", credential.name)],
      cancel: request.sameLink([("revoke", nil)])
    ) { html in
      html.element("p", "It is refused from the next request on, and its secret cannot be restored.")
    }
  }

  private func table(
    _ request: PageRequest, _ kind: Credential.Kind, _ credentials: [Credential], _ uses: [String: Int64]
  ) -> Table {
    let mayChange = request.may(CredentialsPage.revoke)
    var table = Table(
      CredentialsPage.title(kind),
      columns: [.text("Name"), .text("State"), .text(kind == .operator ? "Role" : "May")]
        + [.text("Created"), .text("Last use")] + (mayChange ? [.actions()] : []), isCaptionHidden: true)
    for credential in credentials {
      var cells: [Cell] = [
        .text(credential.name),
        credential.isEnabled ? .badge("enabled", .good) : .badge("disabled", .warn),
        .text(CredentialsPage.permissions(credential)), .time(credential.createdAt, now: request.now),
        uses[credential.name].map { .time($0, now: request.now) } ?? .none,
      ]
      if mayChange { cells.append(buttons(request, credential)) }
      table.row(cells)
    }
    return table
  }

  private func buttons(_ request: PageRequest, _ credential: Credential) -> Cell {
    let fields = [("kind", credential.kind.rawValue), ("name", credential.name)]
    return .content { html in
      html.actionForm(
        request, credential.isEnabled ? CredentialsPage.disable : CredentialsPage.enable,
        credential.isEnabled ? "Disable" : "Enable", fields: fields, describedBy: credential.name)
      html.element(
        "a",
        [
          "class": "button", "href": request.sameLink([("revoke", credential.name)]).text,
          "aria-label": "Revoke \(credential.name)",
        ], "Revoke…")
    }
  }

  private static func title(_ kind: Credential.Kind) -> String {
    switch kind {
    case .operator: "Operators"
    case .key: "API keys"
    case .user: "Users"
    case .instance: "Instances"
    }
  }

  private static func empty(_ kind: Credential.Kind) -> EmptyState {
    EmptyState(
      "\(title(kind)): none",
      "Add one on the command line: martlet credentials add \(kind.rawValue) NAME")
  }

  private static func permissions(_ credential: Credential) -> String {
    let apps = credential.apps.isForEveryApp ? "every app" : credential.apps.apps.joined(separator: ", ")
    switch credential.kind {
    case .operator: return credential.role.rawValue
    case .key: return "\(credential.scopes.map(\.rawValue).sorted().joined(separator: ", ")); \(apps)"
    case .user: return apps
    case .instance: return "itself"
    }
  }
}
