import Queue
import APNs
import EventLoop
import JSON
import Jobs

/// The routes that workers have trouble with, each once for the whole fleet.
struct RouteStatus {
  struct Entry {
    var route: RouteReport
    /// How many workers say so.
    var workers: Int
    let fix: String
  }

  var paused: [Entry]
  var stoppedRemovals: [Entry]

  init(_ workers: [WorkerReport]) {
    paused = RouteStatus.merged(workers.flatMap(\.pausedRoutes)) { RouteNotice.fix(ofPauseFor: $0) }
    stoppedRemovals = RouteStatus.merged(workers.flatMap(\.stoppedRemovals)) { _ in RouteNotice.fixOfStoppedRemoval }
  }

  /// Empty when there is no trouble.
  var text: String {
    var text = ""
    if !paused.isEmpty {
      text += "\npaused routes: their jobs are kept, one push a minute tries each again\n" + RouteStatus.table(paused)
    }
    if !stoppedRemovals.isEmpty {
      text += "\nroutes most of whose tokens look bad: sent to, and no token removed\n"
      text += RouteStatus.table(stoppedRemovals)
    }
    return text
  }

  func write(to writer: inout JSONWriter) {
    for (key, entries) in [("pausedRoutes", paused), ("stoppedRemovals", stoppedRemovals)] {
      writer.key(key)
      writer.beginArray()
      for entry in entries {
        writer.beginObject()
        entry.route.writeMembers(to: &writer)
        writer.key("workers")
        writer.integer(entry.workers)
        writer.key("fix")
        writer.string(entry.fix)
        writer.endObject()
      }
      writer.endArray()
    }
  }

  /// The longest first.
  private static func merged(_ routes: [RouteReport], fix: (String) -> String) -> [Entry] {
    var entries: [[String]: Entry] = [:]
    for route in routes {
      let key = [route.environment, route.topic, route.reason]
      var entry = entries[key] ?? Entry(route: route, workers: 0, fix: fix(route.reason))
      entry.workers += 1
      entry.route.since = min(entry.route.since, route.since)
      entries[key] = entry
    }
    return entries.values.sorted { ($0.route.since, $0.route.topic) < ($1.route.since, $1.route.topic) }
  }

  private static func table(_ entries: [Entry]) -> String {
    Console.table(
      ["environment", "topic", "reason", "seconds", "workers", "fix"],
      entries.map { entry in
        let route = entry.route
        return [
          route.environment, printable(route.topic), printable(route.reason),
          "\(max(0, Clock.unixMilliseconds - route.since) / 1000)", "\(entry.workers)", entry.fix,
        ]
      })
  }

  /// Topics and reasons come from outside; a terminal is not to obey them.
  private static func printable(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.generalCategory == .control ? "�" : $0 }))
  }
}
