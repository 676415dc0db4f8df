import JSON
import Operations
import Program
import PushModel

/// A channel in one environment, as `martlet channels` shows it.
struct ChannelLine {
  /// Nil for a channel that APNs alone knows.
  let name: String?
  let environment: PushEnvironment
  /// Nil if there is none.
  let id: String?
  /// Nil if it is not known.
  var storage: ChannelStorage?
  let state: String

  var json: String {
    let object: JSONObject = [
      "name": name, "environment": environment.rawValue, "id": id, "storage": storage?.rawValue, "state": state,
    ]
    return object.line
  }

  static func text(_ entries: [ChannelEntry], isJSON: Bool, app: String) -> String {
    let rows = entries.map {
      ChannelLine(
        name: $0.name, environment: $0.environment, id: $0.id, storage: $0.storage, state: $0.state.rawValue)
    }
    if isJSON { return rows.map(\.json).joined() }
    guard !rows.isEmpty else { return "\(app) has no channels\n" }
    return Console.table(
      ["name", "environment", "storage", "state", "id"],
      rows.map { [$0.name ?? "-", $0.environment.rawValue, $0.storage?.rawValue ?? "-", $0.state, $0.id ?? ""] })
  }
}
