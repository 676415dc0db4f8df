import EventLoop
import HTTPServer
import Jobs
import Redis
import Telemetry

/// Answers the request of an operator: shows a page, or carries out an action and writes it into the audit log.
@EventLoop
struct PageResponder {
  let context: DashboardContext
  private let notices: Notices
  private let forms: FormToken

  init(context: DashboardContext) {
    self.context = context
    notices = Notices(connection: context.connection)
    forms = FormToken(connection: context.connection)
  }

  func response(to http: HTTPRequest, _ match: PageRouter.Match?, by operator: Operator) async -> HTTPResponse {
    guard let match else {
      return error(.notFound("There is no such page."), PageRequest(http, operator: `operator`), nil)
    }
    var request = PageRequest(http, parameter: match.parameter, operator: `operator`)
    do throws(PageError) {
      switch http.method {
      case "GET", "HEAD": return try await show(match.page, request)
      case "POST":
        request = PageRequest(
          http, parameter: match.parameter, operator: `operator`, form: PageForm(try FormBody.fields(of: http)))
        return try await perform(match.page, request)
      default: throw .methodNotAllowed(match.page.actions.isEmpty ? "GET, HEAD" : "GET, HEAD, POST")
      }
    } catch {
      return self.error(error, request, match.page.section)
    }
  }

  private func show(_ page: any DashboardPage, _ request: PageRequest) async throws(PageError) -> HTTPResponse {
    var notice: ActionOutcome?
    if let id = request.query(Notices.queryItem) { notice = try await refusingFaults(await notices.take(id)) }
    let content = try await page.show(request)
    if let location = content.location { return PageAnswer.redirect(to: location) }
    return document(content, request, page.section, notice: notice)
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
    await context.audit.note(
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
    return document(page, request, section)
  }

  /// Answers a request whose sender is not known.
  func response(to error: PageError, of http: HTTPRequest) -> HTTPResponse {
    note(error, http)
    var page = Page(error.title) { html in
      html.notice(error.message, error.status >= 500 ? .bad : .warn)
      html.element("p") { $0.link("Sign in", to: Links(from: http.path).link("sign-in")) }
    }
    page.status = error.status
    page.refreshes = false
    let layout = Layout(
      links: Links(from: http.path), operator: nil, section: nil, version: context.configuration.version)
    var response = PageAnswer.html(layout.document(page), status: page.status)
    response.headers += error.headers
    return response
  }

  private func note(_ error: PageError, _ http: HTTPRequest) {
    guard let cause = error.cause else { return }
    context.log.warn("a page failed", ["path": .init(http.path), "reason": .init("\(cause)")])
  }

  private func error(_ error: PageError, _ request: PageRequest, _ section: Section?) -> HTTPResponse {
    note(error, request.http)
    var page = Page(error.title) { html in
      html.notice(error.message, error.status >= 500 ? .bad : .warn)
      html.element("p") { html in
        html.link("Back to the page", to: request.sameLink())
        html.text(" · ")
        html.link("Overview", to: request.link(""))
      }
    }
    page.status = error.status
    page.refreshes = false
    var response = document(page, request, section)
    response.headers += error.headers
    return response
  }

  private func document(
    _ page: Page, _ request: PageRequest, _ section: Section?, notice: ActionOutcome? = nil
  ) -> HTTPResponse {
    let layout = Layout(
      links: request.links, operator: request.operator, section: section, version: context.configuration.version)
    return PageAnswer.html(layout.document(page, notice: notice), status: page.status)
  }
}
