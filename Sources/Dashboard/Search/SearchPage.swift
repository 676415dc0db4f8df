import EventLoop
import Jobs
import PushModel
import Operations
import Queue
import Redis
import Registry
import Telemetry

/// `/search?q=`: leads to the job with an id, or to the devices of a user, a token or an instance.
@EventLoop
struct SearchPage: DashboardPage {
  private static let maximumText = 512

  let context: DashboardContext

  let path = "/search"
  let section = Section.overview

  func show(_ request: PageRequest) async throws(PageError) -> Page {
    let text = String((request.query("q") ?? "").prefix(SearchPage.maximumText))
    let found = text.isEmpty ? [] : try await find(text, request)
    if found.count == 1 { return .redirect(to: found[0].link) }
    var page = Page("Search") { html in
      if text.isEmpty {
        html.emptyState(
          EmptyState("Nothing to search for", "Enter the id of a job, or a user, a token or an instance."))
      } else if found.isEmpty {
        html.emptyState(
          EmptyState(
            "Nothing was found for “\(text)”",
            "No job, record, user, token or instance has this name. A job may wait deep in a long queue, or its record may have expired."
          ))
      } else {
        html.panel("Several things have the name “\(text)”") { html in
          html.element("ul") { html in
            for entry in found { html.element("li") { $0.link(entry.title, to: entry.link) } }
          }
        }
      }
    }
    page.refreshes = false
    if found.isEmpty, !text.isEmpty { page.status = 404 }
    return page
  }

  private struct Found {
    let title: String
    let link: Link
  }

  private func find(_ text: String, _ request: PageRequest) async throws(PageError) -> [Found] {
    let user = Username.validated(text)
    var candidates: [(Found, String)] = []
    func add(_ what: String, _ link: Link, _ key: String) { candidates.append((Found(title: what, link: link), key)) }
    if let user {
      add("User \(user)", request.link("devices", query: [("user", user.text)]), RegistryKeys.userTokens(user))
    }
    if DeviceToken.isWellFormed(text) {
      add(
        "Device \(Log.shortened(text))", request.link("devices", query: [("token", text)]),
        RegistryKeys.token(DeviceToken(text)))
    }
    add("Instance \(text)", request.link("devices", query: [("instance", text)]), RegistryKeys.instance(text))
    let replies = try await refusingFaults(
      await context.connection.replies(to: candidates.map { RedisCommand("EXISTS", $0.1) }))
    var found = zip(candidates, replies).filter { $1.integer == 1 }.map(\.0.0)
    let location = try await refusingFaults(await context.fleet.locate(text))
    if location.isAlive || location.record != nil || location.envelope != nil {
      found.insert(Found(title: "Job \(text)", link: request.link("jobs", text)), at: 0)
    }
    return found
  }
}
