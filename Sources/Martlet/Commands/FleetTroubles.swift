import EventLoop
import Operations
import Program
import PushModel
import Queue

/// What workers have trouble with, each once for the whole fleet, as `martlet status` shows it.
struct FleetTroubles {
  let paused: [FleetRoute]
  let stoppedRemovals: [FleetRoute]
  let slowApps: [SlowAppReport]
  /// The last of all workers'.
  let connectionEnd: ConnectionEndNotice?
  /// Nil if no worker tells.
  let memory: MemoryReport?

  init(_ workers: [WorkerReport]) {
    paused = FleetRoute.paused(workers)
    stoppedRemovals = FleetRoute.stoppedRemovals(workers)
    slowApps = SlowAppReport.sums(workers)
    memory = .worst(workers.compactMap(\.memory))
    connectionEnd = workers.compactMap(\.connectionEnd).max { $0.at < $1.at }
  }

  /// A table for each kind of trouble; empty without any.
  var text: String {
    var text = memory.map { "redis: \($0.summary)\n" } ?? ""
    if let memory, memory.stage != .ample { text += "fix: \(MemoryReport.fix)\n" }
    if !paused.isEmpty {
      text +=
        "\npaused routes: their jobs are kept, and one push a minute probes each route\n" + FleetTroubles.table(paused)
    }
    if !stoppedRemovals.isEmpty {
      text += "\nstopped removals: most tokens of these routes look invalid, so they are kept; sending continues\n"
      text += FleetTroubles.table(stoppedRemovals)
    }
    if !slowApps.isEmpty {
      let rows = slowApps.map { [$0.app, "\($0.inFlight)/\($0.concurrency)", "\($0.waiting)"] }
      text += "\nslow apps: APNs answers late; fewer pushes are in flight, and further jobs are retried later\n"
      text += Console.table(["app", "pushes in flight", "waiting in memory"], rows)
    }
    if let end = connectionEnd {
      let seconds = max(0, Clock.unixMilliseconds - end.at) / 1000
      let (reason, gateway) = (FleetTroubles.printable(end.reason), FleetTroubles.printable(end.gateway))
      text += "\nthe last connection to APNs that ended: \(reason), \(gateway), \(seconds) s ago\n"
    }
    return text
  }

  private static func table(_ routes: [FleetRoute]) -> String {
    Console.table(
      ["environment", "topic", "reason", "seconds", "workers", "fix"],
      routes.map { route in
        let notice = route.notice
        return [
          notice.environment.rawValue, printable(notice.topic), printable(notice.reason),
          "\(max(0, Clock.unixMilliseconds - notice.since) / 1000)", "\(route.workers)", route.fix,
        ]
      })
  }

  /// Replaces control characters, which topics and reasons from outside may contain.
  private static func printable(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.generalCategory == .control ? "�" : $0 }))
  }
}
