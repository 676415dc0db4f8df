import HTTPServer
import JSON
import Queue

/// The /readyz of a supervisor: those of its worker processes in one.
///
/// It is ready while at least one process is, and has the members of one worker's, so that the same checks can read it. The member
/// `processes` names those that are not ready.
struct GroupReadiness {
  /// What is known of a process.
  enum State: Equatable {
    /// Its own /readyz.
    case answered(status: Int, body: [UInt8])
    /// It runs, and did not answer in time.
    case silent
    /// It has ended and is not started again yet.
    case waiting
  }

  /// By place.
  let states: [State]

  var response: HTTPResponse { .json(body, status: status) }

  var status: Int { readyCount > 0 ? 200 : 503 }

  private var readyCount: Int { states.count { GroupReadiness.isReady($0) } }

  /// `{"ready","redis","apns","stopping","pausedRoutes","processes":{"running":2,"ready":1,"notReady":[{"process":2,"state":"…"}]}}`.
  /// Processes are numbered from 1.
  var body: [UInt8] {
    let answers = states.compactMap(GroupReadiness.answer)
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("ready")
    writer.bool(readyCount > 0)
    writer.key("redis")
    writer.string(GroupReadiness.best(answers.compactMap { $0["redis"]?.string }))
    writer.key("apns")
    writer.string(GroupReadiness.best(answers.compactMap { $0["apns"]?.string }))
    writer.key("stopping")
    writer.bool(!answers.isEmpty && answers.allSatisfy { $0["stopping"]?.bool == true })
    RouteReport.write(pausedRoutes(answers), key: "pausedRoutes", to: &writer)
    writeProcesses(to: &writer)
    writer.endObject()
    return writer.bytes + [UInt8(ascii: "\n")]
  }

  private func writeProcesses(to writer: inout JSONWriter) {
    writer.key("processes")
    writer.beginObject()
    writer.key("running")
    writer.integer(Int64(states.count { $0 != .waiting }))
    writer.key("ready")
    writer.integer(Int64(readyCount))
    writer.key("notReady")
    writer.beginArray()
    for (place, state) in states.enumerated() where !GroupReadiness.isReady(state) {
      writer.beginObject()
      writer.key("process")
      writer.integer(Int64(place + 1))
      writer.key("state")
      writer.string(GroupReadiness.reason(state))
      writer.endObject()
    }
    writer.endArray()
    writer.endObject()
  }

  /// Each route once, with the time since when the first process has paused it.
  private func pausedRoutes(_ answers: [JSONValue]) -> [RouteReport] {
    var routes: [RouteReport] = []
    for route in answers.flatMap({ RouteReport.list($0["pausedRoutes"]) }).sorted(by: { $0.since < $1.since })
    where !routes.contains(where: { $0.environment == route.environment && $0.topic == route.topic }) {
      routes.append(route)
    }
    return routes
  }

  /// One process that reaches a service proves that it can be reached.
  private static func best(_ states: [String]) -> String {
    states.contains("ok") ? "ok" : states.first ?? "unknown"
  }

  private static func isReady(_ state: State) -> Bool {
    if case .answered(200, _) = state { true } else { false }
  }

  private static func answer(_ state: State) -> JSONValue? {
    guard case .answered(_, let body) = state else { return nil }
    return try? JSONValue(parsing: body)
  }

  private static func reason(_ state: State) -> String {
    switch state {
    case .silent: return "does not answer"
    case .waiting: return "ended, waits for its restart"
    case .answered:
      let answer = answer(state)
      if answer?["stopping"]?.bool == true { return "stopping" }
      return answer?["redis"]?.string.map { "redis \($0)" } ?? "not ready"
    }
  }
}
