import Credentials
import EventLoop
import JSON
import Operations

/// `/credentials`: who may call the HTTP APIs and use the dashboard. Shows no secret and no digest.
@EventLoop
struct CredentialsPage: DashboardPage {
  private static let rowsOfPage = 100

  let context: DashboardContext

  let path = "/credentials"
  let section = Section.credentials
  let actions: [PageAction] = [.disable, .enable, .revoke]

  func show(_ request: PageRequest) async throws(PageError) -> Page {
    let kind = try kind(request.query("kind") ?? Credential.Kind.operator.rawValue)
    let cursor = try Cursor.scan(request.query("cursor"))
    let part = try await refusingFaults(
      await context.credentials.part(kind, cursor: cursor, count: CredentialsPage.rowsOfPage))
    let uses = try await refusingFaults(await context.lastUses.read(kind, part.credentials))
    let wanted = part.credentials.first {
      $0.name == request.query("revoke") && $0.label == request.query("label") ?? Credential.defaultLabel
    }
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
    CredentialsPage.subject(
      request.field("kind") ?? "credential", request.named("name"), request.field("label"))
  }

  func perform(_ action: PageAction, _ request: PageRequest) async throws(PageError) -> ActionOutcome {
    let kind = try kind(request.field("kind") ?? "")
    guard let name = request.field("name") else { throw .badRequest("The form names no credential.") }
    guard kind != .operator || name != request.operator.name || action == .enable else {
      return .refused("You cannot revoke or disable your own access. Another admin can.")
    }
    let list = request.link("credentials", query: [("kind", kind.rawValue)])
    let control = CredentialControl(context.credentials, context.registry)
    switch action {
    case .revoke:
      let label = request.field("label")
      let isFound = try await refusingFaults(await control.revoke(kind, name, label: label))
      let subject = CredentialsPage.subject(kind.rawValue, name, label)
      return isFound ? .done("Revoked \(subject).", then: list) : gone(subject)
    default:
      let isEnabled = action == .enable
      let isFound = try await refusingFaults(await control.setEnabled(isEnabled, kind, name))
      let subject = CredentialsPage.subject(kind.rawValue, name, nil)
      return isFound ? .done("\(isEnabled ? "Enabled" : "Disabled") \(subject).", then: list) : gone(subject)
    }
  }

  private func gone(_ subject: String) -> ActionOutcome { .refused("There is no \(subject) any more.") }

  /// Of a user with a label: that secret alone.
  private static func subject(_ kind: String, _ name: String, _ label: String?) -> String {
    (label.map { "secret \($0) of " } ?? "") + "\(kind) \(name)"
  }

  private static func subject(_ credential: Credential) -> String {
    subject(credential.kind.rawValue, credential.name, credential.ownLabel)
  }

  private static func fields(_ credential: Credential) -> [(String, String)] {
    [("kind", credential.kind.rawValue), ("name", credential.name)]
  }

  private func kind(_ text: String) throws(PageError) -> Credential.Kind {
    guard let kind = Credential.Kind(rawValue: text) else { throw .badRequest("There is no such kind of credential.") }
    return kind
  }

  private func confirmation(_ request: PageRequest, _ credential: Credential, _ html: inout HTML) {
    html.confirmation(
      request, .revoke, title: "Revoke \(CredentialsPage.subject(credential))?",
      label: "Revoke \(credential.name)",
      fields: CredentialsPage.fields(credential) + (credential.ownLabel.map { [("label", $0)] } ?? []),
      cancel: request.sameLink([("revoke", nil), ("label", nil)])
    ) { html in
      html.element("p", "It is refused from the next request on, and its secret cannot be restored.")
    }
  }

  private func table(
    _ request: PageRequest, _ kind: Credential.Kind, _ credentials: [Credential], _ uses: [String: Int64]
  ) -> Table {
    let mayChange = request.may(.revoke)
    var table = Table(
      CredentialsPage.title(kind),
      columns: [.text("Name")] + (kind == .user ? [.text("Label")] : [])
        + [.text("State"), .text(kind == .operator ? "Role" : "May")]
        + [.text("Created"), .text("Last use")] + (mayChange ? [.actions()] : []), isCaptionHidden: true)
    var last: Credential?
    for credential in credentials {
      var cells: [Cell] = [.text(credential.name)]
      if let label = credential.ownLabel { cells.append(.text(label)) }
      cells += [
        credential.isEnabled ? .badge("enabled", .good) : .badge("disabled", .warn),
        .text(CredentialsPage.permissions(credential)), .time(credential.createdAt, now: request.now),
        uses[credential.useKey].map { .time($0, now: request.now) } ?? .none,
      ]
      if mayChange { cells.append(buttons(request, credential, isFirst: last?.name != credential.name)) }
      table.row(cells)
      last = credential
    }
    return table
  }

  /// All secrets of a user are enabled and disabled together, by the buttons of the first.
  private func buttons(_ request: PageRequest, _ credential: Credential, isFirst: Bool) -> Cell {
    let label = credential.ownLabel
    return .content { html in
      if isFirst {
        html.actionForm(
          request, credential.isEnabled ? .disable : .enable,
          credential.isEnabled ? "Disable" : "Enable", fields: CredentialsPage.fields(credential),
          describedBy: credential.name)
      }
      html.element(
        "a",
        [
          "class": "button", "href": request.sameLink([("revoke", credential.name), ("label", label)]).text,
          "aria-label": "Revoke " + (label.map { "\($0) of " } ?? "") + credential.name,
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
