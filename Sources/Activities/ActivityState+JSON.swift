public import JSON
import PushModel

extension ActivityState {
  /// Bytes that cannot be read give an empty state.
  public init(json bytes: [UInt8]) {
    guard !bytes.isEmpty, let value = try? JSONValue(parsing: bytes) else { return }
    all = value["all"].flatMap(Newest.init)
    for member in value["users"]?.members ?? [] { users[member.key] = Newest(member.value) }
    if let start = value["firstStart"], let id = start["job"]?.string, let order = ActivityOrder(start["order"]) {
      firstStart = Start(jobID: id, order: order, channel: start["channel"]?.string)
    }
    startedAt = value["startedAt"]?.time ?? 0
    for member in value["starts"]?.members ?? [] { starts[member.key] = member.value.string }
    for member in value["startTurns"]?.members ?? [] { startTurns[member.key] = AttemptTurn(member.value.string) }
    if let members = value["members"]?.array {
      self.members = Set(members.compactMap(\.string))
      formerStarts = Set((value["formerStarts"]?.array ?? []).compactMap(\.string))
    } else {
      formerStarts = Set(starts.keys)
    }
    updates = (value["updates"]?.array ?? []).compactMap(\.time)
  }

  public func json() -> [UInt8] {
    let object: JSONObject = [
      "all": all, "users": users.isEmpty ? nil : JSONObject(users),
      "firstStart": firstStart, "startedAt": startedAt == 0 ? nil : startedAt,
      "starts": starts.isEmpty ? nil : JSONObject(starts),
      "startTurns": startTurns.isEmpty ? nil : JSONObject(startTurns.compactMapValues(\.text)),
      "members": members.sorted(), "formerStarts": formerStarts.isEmpty ? nil : formerStarts.sorted(),
      "updates": updates.isEmpty ? nil : updates,
    ]
    return object.bytes
  }
}

extension ActivityOrder: JSONWritable {
  init?(_ value: JSONValue?) {
    guard let value, let timestamp = value["timestamp"]?.time, let enqueuedAt = value["enqueuedAt"]?.time else {
      return nil
    }
    self.init(timestamp: timestamp, enqueuedAt: enqueuedAt, sequence: value["sequence"]?.string ?? "")
  }

  public func write(to writer: inout JSONWriter) {
    let object: JSONObject = ["timestamp": timestamp, "enqueuedAt": enqueuedAt, "sequence": sequence]
    object.write(to: &writer)
  }
}

extension ActivityState.Start: JSONWritable {
  func write(to writer: inout JSONWriter) {
    let object: JSONObject = ["job": jobID, "order": order, "channel": channel]
    object.write(to: &writer)
  }
}

extension ActivityState.Promise: JSONWritable {
  init?(_ value: JSONValue) {
    guard let nonce = value["nonce"]?.string, let at = value["at"]?.time else { return nil }
    self.init(nonce: nonce, turn: AttemptTurn(value["turn"]?.string), at: at)
  }

  func write(to writer: inout JSONWriter) {
    let object: JSONObject = ["nonce": nonce, "turn": turn.text, "at": at]
    object.write(to: &writer)
  }
}

extension ActivityState.Newest: JSONWritable {
  init?(_ value: JSONValue) {
    guard let job = value["job"]?.string, let order = ActivityOrder(value["order"]),
      let timestamp = value["timestamp"]?.time, let payload = value["payload"]?.string
    else { return nil }
    self.init(
      jobID: job, nonce: value["nonce"]?.string ?? "", turn: AttemptTurn(value["turn"]?.string),
      queue: value["queue"]?.string ?? "",
      isEnd: value["isEnd"]?.bool ?? false, isShared: value["shared"]?.bool ?? false, order: order,
      timestamp: timestamp, payload: Array(payload.utf8),
      priority: Int(value["priority"]?.integer(in: 1...10) ?? 10), expiresAt: value["expiresAt"]?.time,
      phase: value["phase"]?.string.flatMap(Phase.init) ?? .settled, since: value["since"]?.time ?? 0,
      reached: Set((value["reached"]?.array ?? []).compactMap(\.string)))
    for member in value["promises"]?.members ?? [] { promises[member.key] = ActivityState.Promise(member.value) }
    predecessors = (value["predecessors"]?.array ?? []).compactMap(ActivityState.Promise.init)
  }

  public func write(to writer: inout JSONWriter) {
    let object: JSONObject = [
      "job": jobID, "nonce": nonce, "turn": turn.text, "queue": queue, "isEnd": isEnd, "shared": isShared ? true : nil,
      "order": order,
      "timestamp": timestamp,
      "payload": String(decoding: payload, as: UTF8.self), "priority": priority, "expiresAt": expiresAt,
      "phase": phase.rawValue, "since": since, "reached": reached.sorted(),
      "promises": promises.isEmpty ? nil : JSONObject(promises),
      "predecessors": predecessors.isEmpty ? nil : predecessors,
    ]
    object.write(to: &writer)
  }
}
