import EventLoop
import JSON

// The bodies of `GET` responses. Times are unix nanoseconds.

extension Gateway {
  @EventLoop
  var report: JSONObject {
    let byStatus = ledger.byStatus.merging([200: ledger.accepted]) { refused, _ in refused }
    return [
      "received": ledger.received, "accepted": ledger.accepted, "distinct": ledger.ids.count,
      "duplicates": ledger.duplicates, "overflow": ledger.ids.overflow,
      "byStatus": JSONObject(Dictionary(uniqueKeysWithValues: byStatus.map { (String($0.key), $0.value) })),
      "byReason": JSONObject(ledger.byReason), "firstArrival": ledger.firstArrival,
      "lastArrival": ledger.lastArrival, "connections": connectionsAccepted, "openConnections": openConnections,
      "tokensVerified": verifier.verifications, "providerTokens": verifier.tokens,
      "goaways": effects["goaways"] ?? 0, "resets": effects["resets"] ?? 0, "stalls": effects["stalls"] ?? 0,
      "drops": effects["drops"] ?? 0, "forcedAnswers": effects["answers"] ?? 0,
    ]
  }
}

extension RecentPush {
  var report: JSONObject {
    [
      "apnsId": id.text, "token": head.text(head.deviceToken), "topic": head.text(head[.topic]),
      "pushType": head.text(head[.pushType]), "priority": head.text(head[.priority]),
      "collapseId": head.text(head[.collapseID]), "expiration": head.text(head[.expiration]),
      "payloadBytes": payloadBytes, "arrival": arrival, "status": status, "reason": reason,
    ]
  }
}

extension RequestHead {
  func text(_ value: ArraySlice<UInt8>?) -> String? { value.map { String(decoding: $0, as: UTF8.self) } }
}

extension Fault {
  var report: JSONObject {
    ["fault": "\(kind)", "on": target.rawValue, "every": every, "remaining": remaining, "seen": seen]
  }
}
