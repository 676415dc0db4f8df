import Credentials
import Operations
import Jobs
import PushModel
import Queue
import Telemetry

/// The parts of the page of a job.
struct JobView {
  let request: PageRequest
  let location: JobLocation
  let explanation: JobExplanation
  let isRevealed: Bool

  /// Devices that are listed.
  private static let shownDevices = 100

  private var id: String { location.id }

  func body(_ html: inout HTML) {
    html.element("section", ["class": "panel lead", "aria-label": "State"]) { html in
      let badge = JobPlaceText.badge(location)
      html.element("p", ["class": "lead-outcome"]) { html in
        html.badge(badge.text, badge.tone)
        html.text(" " + explanation.outcome)
      }
      if let next = explanation.next {
        html.labelled("Next: ", next.sentence) { html in
          guard let at = next.at else { return }
          html.text(" ")
          html.element("span", ["class": "quiet"]) { $0.time(at, now: request.now) }
        }
      }
      if let advice = explanation.advice { html.labelled("To do: ", advice) }
      buttons(&html)
    }
    timeline(&html)
    facts(&html)
    devices(&html)
  }

  // MARK: - Actions

  private func buttons(_ html: inout HTML) {
    let buttons = HTML { html in
      switch location.place {
      case .waiting, .inFlight, .paused: html.confirmLink(request, .cancel, "Cancel…")
      case .retry:
        html.actionForm(request, .runNow, "Retry now", style: .primary)
        html.confirmLink(request, .cancel, "Cancel…")
      case .scheduled:
        html.actionForm(request, .runNow, "Run now", style: .primary)
        html.confirmLink(request, .cancel, "Cancel…")
      case .dead:
        html.actionForm(request, .requeue, "Requeue", style: .primary)
        html.confirmLink(request, .purge, "Purge…")
      case .ended, .unknown: break
      }
      if let app = audience {
        html.link("Broadcast to \(app)", to: request.link("broadcasts", id), class: "button")
      }
    }
    if !buttons.isEmpty { html.element("div", ["class": "buttons"]) { $0.append(buttons) } }
  }

  private var summary: JobSummary? { location.envelope.map { JobSummary(job: $0.job) } }

  private var audience: String? {
    if case .app(let app)? = summary?.addressee { app } else { nil }
  }

  func confirmation(_ html: inout HTML) {
    let back = request.sameLink([("confirm", nil)])
    switch request.query("confirm") {
    case "cancel" where location.isAlive && request.may(.cancel):
      html.confirmation(request, .cancel, title: "Cancel this job?", label: "Cancel the job", cancel: back) {
        $0.element("p", "Pushes that were not sent yet are not sent. What APNs has accepted is delivered.")
      }
    case "purge" where location.place.isDead && request.may(.purge):
      html.confirmation(request, .purge, title: "Purge this dead letter?", label: "Purge the job", cancel: back) {
        $0.element("p", "The job is deleted for good. Its push is not sent.")
      }
    default: break
    }
  }

  // MARK: - What is known

  private func timeline(_ html: inout HTML) {
    guard !explanation.steps.isEmpty else { return }
    html.panel("What happened") { html in
      html.element("ol", ["class": "timeline"]) { html in
        for step in explanation.steps {
          html.element("li", ["class": "step \(step.kind.rawValue)"]) { html in
            html.element("span", ["class": "step-time"]) { html in
              if let at = step.at {
                html.time(at, now: request.now)
              } else {
                html.element("span", ["class": "none"], "–")
              }
            }
            html.element("span", ["class": "step-text"], step.sentence)
          }
        }
      }
    }
  }

  private func facts(_ html: inout HTML) {
    var facts: [(String, Cell)] = []
    if let addressee = summary?.addressee {
      facts.append(("For", JobCells(request: request).addressee(addressee, of: id)))
    }
    if let queue = location.queue { facts.append(("Queue", .link(queue, request.link("queues", queue)))) }
    if let envelope = location.envelope {
      facts.append(("Size", .text(NumberText.bytes(Int64(envelope.job.count)))))
      if envelope.crashes > 0 { facts.append(("Workers that died with it", .number(envelope.crashes))) }
    }
    if let record = location.record { facts += JobView.facts(record, now: request.now) }
    guard !facts.isEmpty else { return }
    html.panel("Facts") { $0.definitions(facts) }
  }

  private static func facts(_ record: JobResult, now: Int64) -> [(String, Cell)] {
    var facts: [(String, Cell)] = [
      ("Record", .badge(record.status.rawValue, JobPlaceText.tone(record.status))),
      ("Attempts", .number(record.attempts)), ("Accepted", .number(record.accepted)),
      ("Failed", .number(record.failed)),
    ]
    if let reason = record.reason { facts.append(("Reason", .text(reason))) }
    if record.stale > 0 { facts.append(("Stale devices", .number(record.stale))) }
    if record.uncertain > 0 { facts.append(("Uncertain pushes", .number(record.uncertain))) }
    if !record.worker.isEmpty { facts.append(("Worker", .code(record.worker))) }
    facts.append(("Claimed", .content { $0.exactTime(record.claimedAt, now: now) }))
    if record.finishedAt > 0 { facts.append(("Recorded", .content { $0.exactTime(record.finishedAt, now: now) })) }
    return facts
  }

  private func devices(_ html: inout HTML) {
    guard let record = location.record, !record.results.isEmpty else { return }
    let (results, isOfChannel) = (record.results, record.history.isOfChannel)
    // Only the sandbox sends apns-unique-id.
    let hasUniqueIDs = results.contains { $0.uniqueID != nil }
    var columns: [Table.Column] = [
      .text(isOfChannel ? "Channel" : "Device"), .text("Outcome"), .text("Reason"), .text("apns-id"),
    ]
    if hasUniqueIDs { columns.append(.text("apns-unique-id")) }
    let title = isOfChannel ? "Environments" : "Devices"
    var table = Table(title, columns: columns, isCaptionHidden: true)
    for result in results.prefix(JobView.shownDevices) {
      let token = request.showsWholeTokens ? result.token.text : Log.shortened(result.token.text)
      var cells: [Cell] = [
        isOfChannel
          ? .code(token) : .link(token, request.link("devices", query: JobDevice(result.token, of: id).query)),
        result.ok
          ? .badge("accepted", .good) : .badge(result.status > 0 ? "refused \(result.status)" : "not sent", .bad),
        result.reason.map { .text($0) } ?? .none, result.apnsID.isEmpty ? .none : .code(result.apnsID),
      ]
      if hasUniqueIDs { cells.append(result.uniqueID.map { .code($0) } ?? .none) }
      table.row(cells)
    }
    html.panel(title) { html in
      html.table(table)
      if results.contains(where: \.ok) {
        html.element(
          "p", ["class": "quiet"], "accepted: accepted by APNs; if it is not shown, see docs/after-apns.md")
      }
      if request.operator.role == .admin { html.element("p") { $0.wholeTokensLink(request) } }
    }
  }

  // MARK: - Payload

  func payload(_ html: inout HTML) {
    guard let envelope = location.envelope else { return }
    html.panel("Payload", id: "payload") { html in
      if isRevealed {
        let text = PayloadText(showsTokens: request.operator.role == .admin).text(Job.json(in: envelope.job))
        html.preformatted(text, label: "The producer's job")
      } else {
        html.element(
          "p", ["class": "quiet"],
          "The text of a push is personal data, so it is hidden. The audit log says who has shown it.")
        html.actionForm(request, .reveal, "Show the payload")
      }
    }
  }
}

extension JobLocation.Place {
  fileprivate var isDead: Bool {
    if case .dead = self { true } else { false }
  }
}
