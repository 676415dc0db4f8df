import EventLoop
import HTTPServer
import Jobs
import Redis
import Telemetry

/// Answers the request of an operator: shows a page, or carries out an action and writes it into the audit log.
@EventLoop
struct PageResponder {
  let context: DashboardContext
  /// The entries of the navigation.
  let sections: [Section]

  private var notices: Notices { Notices(connection: context.connection) }
  private var forms: FormToken { FormToken(connection: context.connection) }

  func response(to route: PageRoute, by operator: Operator) async throws(PageError) -> HTTPResponse {
    guard let page = route.endpoint else { throw .notFound("There is no such page.") }
    let (http, parameter) = (route.http, route.parameter ?? "")
    switch route.method {
    case "GET", "HEAD": return try await show(page, PageRequest(http, parameter: parameter, operator: `operator`))
    case "POST":
      let form = try PageForm(of: http)
      return try await perform(page, PageRequest(http, parameter: parameter, operator: `operator`, form: form))
    default: throw .methodNotAllowed(page.actions.isEmpty ? "GET, HEAD" : "GET, HEAD, POST")
    }
  }

  private func show(_ page: any DashboardPage, _ request: PageRequest) async throws(PageError) -> HTTPResponse {
    var notice: ActionOutcome?
    if let id = request.query(Notices.queryItem) { notice = try await refusingFaults(await notices.take(id)) }
    let content = try await page.show(request)
    if let location = content.location { return PageAnswer.redirect(to: location) }
    return document(content, request.links, request.operator, page.section, notice: notice)
  }

  private func perform(_ page: any DashboardPage, _ request: PageRequest) async throws(PageError) -> HTTPResponse {
    guard let name = request.field("action"), let action = page.actions.first(where: { $0.name == name }) else {
      throw .badRequest("This page has no such action. Nothing was changed.")
    }
    let subject = await page.subject(of: action, request)
    let outcome: ActionOutcome
    do throws(PageError) {
      guard request.may(action) else { throw .forbidden(action.role) }
      outcome = try await once(page, action, request)
    } catch {
      await audit(request, action, subject, error.status < 500 ? "refused: \(error.title)" : "failed: \(error.title)")
      throw error
    }
    let isWritten = await audit(
      request, action, subject, outcome.kind == .done ? "done" : "refused: \(outcome.message)")
    guard isWritten, let id = try? await notices.add(outcome) else { return said(outcome, request, page.section) }
    let next = outcome.location ?? request.sameLink()
    let mark = next.text.contains("?") ? "&" : "?"
    return PageAnswer.redirect(to: Link(text: next.text + mark + "\(Notices.queryItem)=" + id))
  }

  /// Carries out the action unless the same form was sent before.
  private func once(
    _ page: any DashboardPage, _ action: PageAction, _ request: PageRequest
  ) async throws(PageError) -> ActionOutcome {
    let id = TraceID.randomSpan()
    do throws(PageError) {
      guard try await refusingFaults(await forms.take(request.form.fields, for: id)) else {
        return .refused("This was already sent, so it was not done again. The page shows the present state.")
      }
    } catch {
      // Redis may have kept the form without saying so.
      await forms.release(request.form.fields, of: id)
      throw error
    }
    do throws(PageError) {
      let outcome = try await page.perform(action, request)
      if outcome.kind == .refused { await forms.release(request.form.fields, of: id) }
      return outcome
    } catch {
      if !error.mayBeDone { await forms.release(request.form.fields, of: id) }
      throw error
    }
  }

  /// Returns false if Redis did not take the entry; the log line is written in any case.
  @discardableResult
  private func audit(
    _ request: PageRequest, _ action: PageAction, _ subject: String, _ outcome: String
  ) async -> Bool {
    await context.audit.write(
      AuditEntry(
        at: request.now, operator: request.operator.name, action: action.name, subject: subject, outcome: outcome))
  }

  /// Answers with the outcome itself, because Redis cannot keep it for the next page.
  private func said(_ outcome: ActionOutcome, _ request: PageRequest, _ section: Section) -> HTTPResponse {
    var page = Page(outcome.kind == .done ? "Done" : "Not done") { html in
      html.notice(outcome.message, outcome.kind == .done ? .good : .warn)
      html.notice("Since then Redis does not answer, or refuses to write, so the page is not shown.", .bad)
      html.element("p") { $0.link("Back to the page", to: request.sameLink()) }
    }
    page.refreshes = false
    return document(page, request.links, request.operator, section)
  }

  func response(to error: PageError, of http: HTTPRequest) -> HTTPResponse {
    let links = Links(from: http.path)
    var page = Page(error.title) { html in
      html.notice(error.message, error.status >= 500 ? .bad : .warn)
      html.element("p") { html in
        guard let viewer = error.viewer else { return html.link("Sign in", to: links.link("sign-in")) }
        html.link("Back to the page", to: PageRequest(http, operator: viewer.operator).sameLink())
        html.text(" · ")
        html.link("Overview", to: links.link(""))
      }
    }
    page.status = error.status
    page.refreshes = false
    var response = document(page, links, error.viewer?.operator, error.viewer?.section)
    response.headers += error.headers
    return response
  }

  private func document(
    _ page: Page, _ links: Links, _ operator: Operator?, _ section: Section?, notice: ActionOutcome? = nil
  ) -> HTTPResponse {
    let layout = Layout(
      links: links, operator: `operator`, section: section, sections: sections,
      version: context.configuration.version)
    return PageAnswer.html(layout.document(page, notice: notice), status: page.status)
  }
}
