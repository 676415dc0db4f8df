public import JSON
public import PushModel

/// The routes of a ``WorkerReport``.
extension RouteNotice {
  public var object: JSONObject {
    ["environment": environment.rawValue, "topic": topic, "reason": reason, "since": since]
  }
}

extension ConnectionEndNotice {
  public var object: JSONObject { ["reason": reason, "gateway": gateway, "at": at] }
}

extension RouteState {
  var object: JSONObject {
    ["environment": environment.rawValue, "topic": topic, "owners": owners, "suspects": suspects]
  }
}
