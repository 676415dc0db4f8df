import Credentials
import Crypto
import EventLoop
package import HTTPServer

/// A request for a page, by an operator who may see it.
package struct PageRequest: Sendable {
  package let http: HTTPRequest
  /// The decoded part of the path in place of the braces of the route; empty if the route has none.
  package let parameter: String
  package let `operator`: Operator
  /// The fields of the form that was sent, in their order.
  let form: PageForm
  /// Unix milliseconds.
  package let now = Clock.unixMilliseconds
  package let links: Links
  /// Makes the forms of this page recognisable, so that each is carried out once.
  package let formToken = Secret.random()

  init(_ http: HTTPRequest, parameter: String = "", operator: Operator, form: PageForm = PageForm()) {
    self.http = http
    self.parameter = parameter
    self.operator = `operator`
    self.form = form
    links = Links(from: http.path)
  }

  /// Returns the value of a query item; nil if it is absent or empty.
  package func query(_ name: String) -> String? {
    http.queryValue(name).flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Returns the first value of a field of the form; nil if it is absent or empty.
  package func field(_ name: String) -> String? {
    form[name]
  }

  /// What a field of the form names, for the audit log.
  package func named(_ name: String, _ text: (String) -> String = { $0 }) -> String {
    field(name).map(text) ?? "(not named)"
  }

  /// Returns all values of a field of the form, for example of checked boxes.
  package func fields(_ name: String) -> [String] { form.fields.filter { $0.name == name }.map(\.value) }

  package func link(_ path: StaticString, _ id: String? = nil, query: [(String, String)] = []) -> Link {
    links.link(path, id, query: query)
  }

  /// Returns the link to this page with some items of its query replaced. Nil removes an item.
  package func sameLink(_ changes: [(String, String?)] = []) -> Link {
    let names = changes.map(\.0) + [Notices.queryItem]
    let kept = http.query.filter { item in !names.contains(item.name) }.map { ($0.name, $0.value) }
    let added = changes.compactMap { change in change.1.map { (change.0, $0) } }
    let last = http.path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
    return Link(text: "./" + last + FormEncoding.query(kept + added))
  }

  /// Only an admin who asks sees whole tokens.
  package var showsWholeTokens: Bool { `operator`.role == .admin && query("whole") == "yes" }

  /// Whether the operator may carry out an action.
  package func may(_ action: PageAction) -> Bool { `operator`.role >= action.role }
}
