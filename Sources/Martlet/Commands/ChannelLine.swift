import JSON
import Operations
import PushModel

/// A channel in one environment, as `martlet channels` shows it.
struct ChannelLine {
  /// Nil for a channel that APNs alone knows.
  let name: String?
  let environment: PushEnvironment
  /// Empty if there is none.
  let id: String
  /// Nil if it is not known.
  var storage: ChannelStorage?
  var state = ""

  init(name: String?, environment: PushEnvironment, id: String, storage: ChannelStorage?) {
    self.name = name
    self.environment = environment
    self.id = id
    self.storage = storage
  }

  init(_ entry: ChannelEntry) {
    self.init(name: entry.name, environment: entry.environment, id: entry.id, storage: entry.storage)
    state = entry.state.rawValue
  }

  init(_ step: ChannelStep, name: String?) {
    self.init(name: name, environment: step.environment, id: step.id ?? "", storage: nil)
    state =
      switch step.result {
      case .created: "created"
      case .exists: "exists"
      case .adopted: "adopted"
      case .deleted: "deleted"
      case .gone: "gone"
      case .failed: "failed"
      }
  }

  var json: String {
    let object: JSONObject = [
      "name": name, "environment": environment.rawValue, "id": id.isEmpty ? nil : id, "storage": storage?.rawValue,
      "state": state,
    ]
    return object.line
  }

  static func text(_ rows: [ChannelLine], isJSON: Bool, app: String) -> String {
    if isJSON { return rows.map(\.json).joined() }
    guard !rows.isEmpty else { return "\(app) has no channels\n" }
    return Console.table(
      ["name", "environment", "storage", "state", "id"],
      rows.map { [$0.name ?? "-", $0.environment.rawValue, $0.storage?.rawValue ?? "-", $0.state, $0.id] })
  }
}
