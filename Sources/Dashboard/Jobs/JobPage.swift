import Credentials
import EventLoop
import Operations
import Jobs
import Queue

/// `/jobs/{id}`: what happened to a job, what happens next, and what can be done about it.
@EventLoop
struct JobPage: DashboardPage {
  let context: DashboardContext

  let path = "/jobs/{id}"
  let section = Section.queues
  let actions: [PageAction] = [.cancel, .runNow, .requeue, .purge, .reveal]

  func subject(of action: PageAction, _ request: PageRequest) -> String { "job \(request.parameter)" }

  func show(_ request: PageRequest) async throws(PageError) -> Page {
    let id = request.parameter
    let location = try await locate(id)
    let explanation = try await refusingFaults(await context.fleet.explain(location))
    let isRevealed = try await refusingFaults(await PayloadGrant(connection: context.connection).allows(request, id))
    let view = JobView(
      request: request, location: location, explanation: explanation,
      isRevealed: isRevealed && request.may(.reveal))
    var page = Page("Job \(id)") { html in
      html.region("job") { view.body(&$0) }
      view.confirmation(&html)
      view.payload(&html)
    }
    if !explanation.isKnown { page.status = 404 }
    page.refreshes = location.isAlive && !isRevealed
    return page
  }

  func perform(_ action: PageAction, _ request: PageRequest) async throws(PageError) -> ActionOutcome {
    let id = request.parameter
    var outcome: ActionOutcome
    switch action {
    case .cancel: outcome = try await context.cancel(job: id)
    case .runNow: outcome = try await context.runNow(job: id)
    case .requeue: outcome = try await act(.requeue, id)
    case .purge: outcome = try await act(.purge, id)
    default: return try await reveal(id, request)
    }
    outcome.location = request.sameLink([("confirm", nil)])
    return outcome
  }

  private func locate(_ id: String) async throws(PageError) -> JobLocation {
    try await refusingFaults(await context.fleet.locate(id))
  }

  private func act(_ verb: DeadLetterVerb, _ id: String) async throws(PageError) -> ActionOutcome {
    for queue in context.queues {
      let letters = DeadLetters(queue: queue, connection: context.connection)
      guard let entry = try await refusingFaults(await letters.entry(of: id)) else { continue }
      guard try await refusingFaults(await letters.act(verb, on: entry)) else { break }
      return .done("\(verb.past) \(id).")
    }
    throw JobPlaceText.movedOn(try await locate(id).place)
  }

  private func reveal(_ id: String, _ request: PageRequest) async throws(PageError) -> ActionOutcome {
    let location = try await locate(id)
    guard location.envelope != nil else { throw JobPlaceText.movedOn(location.place) }
    let token = try await refusingFaults(
      await PayloadGrant(connection: context.connection).make(id, for: request.operator))
    return .done(
      "The payload is shown for five minutes. The audit log says that you saw it.",
      then: request.sameLink([(PayloadGrant.queryItem, token)]))
  }
}
