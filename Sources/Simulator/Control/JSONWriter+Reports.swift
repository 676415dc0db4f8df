import EventLoop
import JSON

/// The bodies of `GET` responses. Times are unix nanoseconds.
extension JSONWriter {
  @EventLoop
  mutating func ledger(_ gateway: Gateway) {
    let ledger = gateway.ledger
    beginObject()
    field("received", ledger.received)
    field("accepted", ledger.accepted)
    field("distinct", ledger.ids.count)
    field("duplicates", ledger.duplicates)
    field("overflow", ledger.ids.overflow)
    let byStatus = ledger.byStatus.merging([200: ledger.accepted]) { refused, _ in refused }
    field("byStatus", byStatus.map { (String($0.key), $0.value) })
    field("byReason", ledger.byReason.map { ($0.key, $0.value) })
    field("firstArrival", ledger.firstArrival)
    field("lastArrival", ledger.lastArrival)
    field("connections", gateway.connectionsAccepted)
    field("openConnections", gateway.openConnections)
    field("tokensVerified", gateway.verifier.verifications)
    field("providerTokens", gateway.verifier.tokens)
    field("goaways", gateway.effects["goaways"] ?? 0)
    field("resets", gateway.effects["resets"] ?? 0)
    field("stalls", gateway.effects["stalls"] ?? 0)
    field("drops", gateway.effects["drops"] ?? 0)
    field("forcedAnswers", gateway.effects["answers"] ?? 0)
    endObject()
  }

  mutating func push(_ push: RecentPush) {
    beginObject()
    field("apnsId", push.id.text)
    field("token", push.head.deviceToken)
    field("topic", push.head[.topic])
    field("pushType", push.head[.pushType])
    field("priority", push.head[.priority])
    field("collapseId", push.head[.collapseID])
    field("expiration", push.head[.expiration])
    field("payloadBytes", push.payloadBytes)
    field("arrival", push.arrival)
    field("status", push.status)
    field("reason", push.reason)
    endObject()
  }

  mutating func pushID(_ id: PushID, _ entry: PushTable.Entry?) {
    beginObject()
    field("id", id.text)
    field("count", entry?.count ?? 0)
    if let entry { field("arrival", entry.arrival) }
    endObject()
  }

  mutating func fault(_ fault: Fault) {
    beginObject()
    field("fault", "\(fault.kind)")
    field("every", fault.every)
    if let remaining = fault.remaining { field("remaining", remaining) }
    field("seen", fault.seen)
    endObject()
  }

  mutating func field(_ name: StaticString, _ number: some BinaryInteger) {
    key(name)
    integer(number)
  }

  /// Writes nothing if `text` is nil.
  mutating func field(_ name: StaticString, _ text: String?) {
    guard let text else { return }
    key(name)
    string(text)
  }

  private mutating func field(_ name: StaticString, _ text: ArraySlice<UInt8>?) {
    field(name, text.map { String(decoding: $0, as: UTF8.self) })
  }

  private mutating func field(_ name: StaticString, _ counts: [(String, Int)]) {
    key(name)
    beginObject()
    for (name, count) in counts.sorted(by: { $0.0 < $1.0 }) {
      key(name)
      integer(count)
    }
    endObject()
  }
}
