import PushModel
import Queue

/// The part of the page of apps about one app.
struct AppPanel {
  let app: FleetApp

  func append(_ number: Int, to html: inout HTML) {
    html.panel(app.name, id: "app-\(number + 1)") { html in
      html.definitions(definitions)
      html.table(keys, empty: EmptyState("No key is known"))
      html.table(
        gateways,
        empty: EmptyState("No connection", "Connections open with the first push and close after a while without one."))
      if !topics.rows.isEmpty { html.table(topics) }
    }
  }

  private var definitions: [(String, Cell)] {
    var entries: [(String, Cell)] = [
      ("Bundle ids", bundleIDs),
      ("Team", app.team.isEmpty ? .none : .code(app.team)),
      ("Default environment", app.environment.map { .text($0.rawValue) } ?? .none),
      ("Share of the permits", .number(app.share)), ("Workers", .number(app.workers)),
    ]
    if let slow = app.slow {
      entries.append(
        (
          "APNs answers slowly",
          .text(
            "\(slow.inFlight) of \(slow.concurrency) pushes in flight; \(NumberText.count(slow.waiting, "job")) in memory"
          )
        ))
    }
    return entries
  }

  private var bundleIDs: Cell {
    guard app.servesOthers else { return codes(app.bundleIDs) }
    return .content { html in
      for id in app.bundleIDs {
        html.element("code", id)
        html.text(" and ")
      }
      html.text("all that no other app names")
    }
  }

  private func codes(_ texts: [String]) -> Cell {
    .content { html in
      for (place, text) in texts.enumerated() {
        if place > 0 { html.text(", ") }
        html.element("code", text)
      }
    }
  }

  private var keys: Table {
    var table = Table("Keys", columns: [.text("Key"), .text("State"), .number("Workers")])
    for key in app.keys {
      let workers = key.states[key.state] ?? 0
      switch key.state {
      case .signs: table.row(.name(key.id), .badge("signs", .good), .number(workers))
      case .spare: table.row(.name(key.id), .badge("spare", .neutral), .number(workers))
      case .refused: table.row(.name(key.id), .badge("refused by APNs", .bad), .number(workers))
      }
    }
    return table
  }

  private var gateways: Table {
    var table = Table(
      "Gateways", columns: [.text("Gateway"), .text("Environment"), .text("State"), .number("Connections")])
    for gateway in app.gateways {
      let state: Cell =
        if gateway.unreachable > 0 {
          .badge("out of reach for \(NumberText.count(gateway.unreachable, "worker"))", .bad)
        } else if gateway.connections > 0 {
          .badge("connected", .good)
        } else {
          .badge("connecting", .info)
        }
      table.row(.name(gateway.url), .text(gateway.environment.rawValue), state, .number(gateway.connections))
    }
    return table
  }

  private var topics: Table {
    var table = Table(
      "Topics", columns: [.text("Topic"), .text("Environment"), .text("State"), .text("Refused tokens")])
    let known = app.topics.map { ($0.environment, $0.topic) }
    let others = (app.paused + app.stoppedRemovals).filter { route in
      !known.contains { $0 == (route.environment, route.topic) }
    }
    for topic in app.topics {
      table.row(
        .name(topic.topic), .text(topic.environment.rawValue), state(topic.environment, topic.topic),
        .text("\(topic.suspects) of the last \(NumberText.count(topic.owners, "owner"))"))
    }
    for route in others {
      table.row(.name(route.topic), .text(route.environment.rawValue), state(route.environment, route.topic), .none)
    }
    return table
  }

  private func state(_ environment: PushEnvironment, _ topic: String) -> Cell {
    func isThis(_ route: RouteNotice) -> Bool { route.environment == environment && route.topic == topic }
    if let route = app.paused.first(where: isThis) { return .badge("paused: \(route.reason)", .bad) }
    if app.stoppedRemovals.contains(where: isThis) { return .badge("refused tokens are kept", .warn) }
    return .badge("accepted", .good)
  }
}
