import EventLoop
import HTTPServer

/// Answers `/sign-in` and `/sign-out`.
@EventLoop
struct SignIn {
  private static let maximumNext = 2048

  let access: OperatorAccess
  let audit: AuditLog
  /// Whether a path is the one of a page.
  let isPage: @EventLoop (String) -> Bool

  /// Returns nil for any other path.
  func response(to request: HTTPRequest, now: Int64) async throws(PageError) -> HTTPResponse? {
    switch (request.path, request.method) {
    case (SignInPage.path, "GET"), (SignInPage.path, "HEAD"):
      return document(SignInPage.page(next: next(request.queryValue(SignInPage.nextField))), request)
    case (SignInPage.path, "POST"): return try await signIn(request, now)
    case (SignInPage.signOutPath, "POST"): return try await signOut(request, now)
    case (SignInPage.signOutPath, _): throw .methodNotAllowed("POST")
    case (SignInPage.path, _): throw .methodNotAllowed("GET, HEAD, POST")
    default: return nil
    }
  }

  /// Sends the browser to the sign-in page, and from there back to the page it asked for.
  func redirection(from request: HTTPRequest) -> HTTPResponse {
    let page = String(request.path.dropFirst()) + FormEncoding.query(request.query.map { ($0.name, $0.value) })
    let links = Links(from: request.path)
    let next = next(page)
    return PageAnswer.redirect(to: links.link("sign-in", query: next.isEmpty ? [] : [(SignInPage.nextField, next)]))
  }

  private func signIn(_ request: HTTPRequest, _ now: Int64) async throws(PageError) -> HTTPResponse {
    let form = try PageForm(of: request)
    let (name, next) = (form["name"] ?? "", next(form[SignInPage.nextField]))
    guard let done = try await access.signIn(name, form["secret"] ?? "", request, now: now) else {
      var page = SignInPage.page(
        next: next, name: name, fault: "The name or the secret is wrong, or the operator is disabled.")
      page.status = 401
      return document(page, request)
    }
    await write(AuditEntry.signIn, done.operator.name, now)
    var response = PageAnswer.redirect(to: Link(text: "./" + next))
    response.headers.append(("Set-Cookie", done.cookie))
    return response
  }

  private func signOut(_ request: HTTPRequest, _ now: Int64) async throws(PageError) -> HTTPResponse {
    if case .operator(let sender, _) = try await access.sender(of: request, now: now) {
      await write(AuditEntry.signOut, sender.name, now)
    }
    var response = PageAnswer.redirect(to: Link(text: "./sign-in"))
    response.headers.append(("Set-Cookie", try await access.signOut(request)))
    return response
  }

  /// Only who signed in is written: failures, which anybody can cause, would push the other entries out.
  private func write(_ action: String, _ name: String, _ now: Int64) async {
    await audit.write(AuditEntry(at: now, operator: name, action: action, subject: "", outcome: "done"))
  }

  /// Returns the path and the query of a page of this dashboard; nothing for another text, which could lead elsewhere.
  private func next(_ text: String?) -> String {
    guard let text, text.utf8.count <= SignIn.maximumNext, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      return ""
    }
    return isPage("/" + text.prefix { $0 != "?" }) ? text : ""
  }

  private func document(_ page: Page, _ request: HTTPRequest) -> HTTPResponse {
    let layout = Layout(links: Links(from: request.path), operator: nil, section: nil, sections: [], version: "")
    return PageAnswer.html(layout.document(page), status: page.status)
  }
}
