import Credentials
import Dashboard
import EventLoop
import Operations

/// `/activities/{id}`: what a Live Activity shows, which devices have an update token of it, and what waits for one.
@EventLoop
struct ActivityPage: DashboardPage {
  let context: DashboardContext

  let path = "/activities/{id}"
  let section = Section.devices

  func show(_ request: PageRequest) async throws(PageError) -> Page {
    let explanation = try await refusingFaults(
      await ActivityReader.explain(
        request.parameter, context.fleet, context.registry, showsWholeTokens: request.showsWholeTokens))
    let view = ActivityView(explanation: explanation, request: request)
    var page = Page("Live Activity \(request.parameter)") { html in
      html.region("activity") { view.body(&$0) }
    }
    if !explanation.isKnown { page.status = 404 }
    return page
  }
}
