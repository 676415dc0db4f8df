import Credentials
import Jobs
import Operations
import PushModel
import Queue
import Telemetry

/// What lists of jobs show of each one.
struct JobCells {
  let request: PageRequest

  /// The id, with a link to the job.
  func id(_ id: String?) -> Cell {
    guard let id, !id.isEmpty else { return .quiet("gets its id when it is claimed") }
    return .content { $0.jobLink(id, to: request.link("jobs", id)) }
  }

  /// Whom a job is for, with a link to the devices where that leads to few.
  func addressee(_ job: BrowsedJob) -> Cell {
    guard let addressee = JobSummary(job: job.job).addressee else { return .quiet("cannot be read") }
    return self.addressee(addressee, of: job.id)
  }

  /// `id` is that of the job.
  func addressee(_ addressee: Addressee, of id: String?) -> Cell {
    switch addressee {
    case .user(let name):
      .content { $0.addressee("user", name.text, request.link("devices", query: [("user", name.text)])) }
    case .userToken(let name, _):
      .content { $0.addressee("one device of user", name.text, request.link("devices", query: [("user", name.text)])) }
    case .token(let token):
      .content {
        $0.addressee(
          "device", Log.shortened(token.text),
          id.map { request.link("devices", query: JobDevice(token, of: $0).query) })
      }
    case .tokens(let tokens): .text(NumberText.count(tokens.count, "device"))
    case .instance(let id):
      .content { $0.addressee("instance", id, request.link("devices", query: [("instance", id)])) }
    case .app(let app): .content { $0.addressee("everyone of app", app, nil) }
    case .activity(let id, _): .content { $0.addressee("Live Activity", id, request.link("activities", id)) }
    case .channel(let name): .content { $0.addressee("channel", name, nil) }
    case .activityToken(let id, _):
      .content { $0.addressee("one token of Live Activity", id, request.link("activities", id)) }
    }
  }

  func queue(_ name: String) -> Cell {
    .content { $0.link(name, to: request.link("queues", name), class: "queue-name") }
  }

  /// When a job that waits for its time is due.
  func due(_ job: BrowsedJob) -> Cell {
    job.isPaused ? .text("when it is resumed") : .time(job.position?.milliseconds ?? 0, now: request.now)
  }

  func size(_ job: BrowsedJob) -> Cell { .text(NumberText.bytes(Int64(job.jobBytes))) }
}

extension HTML {
  /// Appends content in a frame without a heading.
  mutating func surface(_ content: (inout HTML) -> Void) {
    element("div", ["class": "panel"], content)
  }

  /// Appends the id of a job. A long one is cut by the style, and whole in its title.
  package mutating func jobLink(_ id: String, to link: Link) {
    element("a", ["href": link.text, "class": "job-id", "title": id], id)
  }

  fileprivate mutating func addressee(_ kind: String, _ name: String, _ link: Link?) {
    element("span", ["class": "addressee"]) { html in
      html.element("span", ["class": "quiet"], kind + " ")
      if let link { html.link(name, to: link) } else { html.text(name) }
    }
  }
}
