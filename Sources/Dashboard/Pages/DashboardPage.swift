package import EventLoop

/// A page and its actions.
@EventLoop
package protocol DashboardPage {
  /// The path, whose last part may be a parameter: `/queues/{name}`.
  var path: String { get }

  /// The entry of the navigation that is shown as the current one.
  var section: Section { get }

  /// What the forms of the page can do.
  var actions: [PageAction] { get }

  /// Returns the page as it is now. Changes nothing.
  func show(_ request: PageRequest) async throws(PageError) -> Page

  /// Returns what an action is about, for the audit log: `queue push:jobs`. It is asked before the action is carried out.
  func subject(of action: PageAction, _ request: PageRequest) async -> String

  /// Carries out an action. The role and the origin of the request have been checked, and the form has not been sent before.
  func perform(_ action: PageAction, _ request: PageRequest) async throws(PageError) -> ActionOutcome
}

extension DashboardPage {
  package var actions: [PageAction] { [] }

  package func subject(of action: PageAction, _ request: PageRequest) -> String { request.parameter }

  package func perform(_ action: PageAction, _ request: PageRequest) async throws(PageError) -> ActionOutcome {
    throw .badRequest("This page has no action.")
  }
}
