import Credentials
import Operations
import PushModel
import Registry
import Telemetry

/// The devices of a user, of a token or of an instance, with what can be done with each.
struct DevicesPanel {
  let query: InspectedAddressee
  let entries: [DeviceEntry]
  /// Of parts, about the same addressee.
  let pages: [PageReference]
  let request: PageRequest

  /// `start` is the place of the first entry among `count`.
  func append(to html: inout HTML, start: Int, count: Int, isComplete: Bool) {
    html.panel("Devices") { html in
      html.table(table, empty: empty)
      let end = start + entries.count
      html.pager(
        request, first: start == 0, next: end < count ? String(end) : nil,
        description: count > DevicesPage.pageSize
          ? "\(start + 1) to \(end) of \(isComplete ? "" : "more than ")\(NumberText.grouped(count))" : nil)
      links(&html)
    }
  }

  private var empty: EmptyState {
    switch query {
    case .user:
      EmptyState("No device is registered", "Jobs to this user end as no_devices until an app registers a device.")
    case .token:
      EmptyState(
        "This token is not registered",
        "A job to the token itself is still sent, with the default app, and in the default environment first."
      )
    case .instance: EmptyState("No device is registered", "Jobs to this instance end as no_devices.")
    }
  }

  private func links(_ html: inout HTML) {
    html.element("p", ["class": "links"]) { html in
      if request.operator.role == .admin, !entries.isEmpty {
        html.wholeTokensLink(request)
        html.text(" ")
      }
      for page in pages { html.link(page.title, to: request.link(page.path, query: page.query)) }
    }
  }

  private var table: Table {
    var columns: [Table.Column] = [
      .text("Device"), .text("App"), .text("Environment"), .text("Kind"), .text("Phone"), .text("Registered"),
    ]
    if case .token = query { columns.append(.text("Owner")) }
    columns += [.text("Last refusal"), .actions()]
    var table = Table("Devices", columns: columns, isCaptionHidden: true)
    for entry in entries { table.row(row(entry)) }
    return table
  }

  private func row(_ entry: DeviceEntry) -> [Cell] {
    let device = entry.device
    var cells: [Cell] = [
      name(entry), device.bundleID.map { .code($0) } ?? .text("no app"),
      .text(device.environment?.rawValue ?? "unknown"), kind(device),
      device.deviceID.map { .code($0) } ?? .none,
      device.updatedAt > 0 ? .time(device.updatedAt, now: request.now) : .none,
    ]
    if case .token = query {
      cells.append(owner(entry))
    }
    return cells + [refusal(entry), actions(entry)]
  }

  /// A token of a Live Activity with the activity, or the type of its attributes.
  private func kind(_ device: Device) -> Cell {
    guard let kind = device.kind else { return .none }
    guard kind.isOfActivities, let activity = device.activity else { return .text(kind.rawValue) }
    guard kind == .activity else { return .text("\(kind.rawValue) \(activity)") }
    return .content { html in
      html.text("\(kind.rawValue) ")
      html.link(activity, to: request.link("activities", activity))
    }
  }

  private func owner(_ entry: DeviceEntry) -> Cell {
    if let id = entry.instance { return .link("instance \(id)", request.link("devices", query: [("instance", id)])) }
    return entry.device.username.map { .link($0.text, request.link("devices", query: [("user", $0.text)])) }
      ?? .text("anonymous")
  }

  private func name(_ entry: DeviceEntry) -> Cell {
    .content { html in
      if request.showsWholeTokens {
        html.element("code", ["class": "token whole"], entry.device.token.text)
      } else {
        html.token(entry.device.token.text)
      }
      if entry.device.platform == .android {
        html.text(" ")
        html.badge("android", .neutral)
      }
      if !entry.isActive {
        html.text(" ")
        html.badge("inactive", .warn)
      }
    }
  }

  private func refusal(_ entry: DeviceEntry) -> Cell {
    guard let refusal = entry.refusal else { return .none }
    return .content { html in
      html.badge(refusal.reason.isEmpty ? "HTTP \(refusal.status)" : refusal.reason, .warn)
      html.text(" ")
      html.element("span", ["class": "quiet"]) { html in
        html.time(refusal.at, now: request.now)
        html.text(" ")
        html.link("job", to: request.link("jobs", refusal.jobID))
      }
    }
  }

  private func actions(_ entry: DeviceEntry) -> Cell {
    let fields = [("device", entry.reference)]
    let shortened = Log.shortened(entry.device.token.text)
    return .content { html in
      // A test push would start a Live Activity, or change what one shows.
      if entry.device.platform == .ios, entry.isActive, entry.device.kind?.isOfActivities != true {
        html.actionForm(request, .test, "Send a test push", fields: fields, describedBy: "to \(shortened)")
      }
      html.actionForm(request, .remove, "Remove", style: .danger, fields: fields, describedBy: shortened)
    }
  }
}
