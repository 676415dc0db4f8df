/// One push of `GET /ledger/recent`.
struct PushReport: Codable, Equatable {
  let apnsId: String
  let token: String?
  let topic: String?
  let pushType: String?
  let priority: String?
  let collapseId: String?
  let expiration: String?
  let payloadBytes: Int
  /// Unix nanoseconds.
  let arrival: UInt64
  let status: Int
  let reason: String?

  init(_ push: RecentPush) {
    func text(_ field: RequestHead.Field) -> String? { push.head[field].map { String(decoding: $0, as: UTF8.self) } }
    apnsId = push.id.text
    token = push.head.deviceToken.map { String(decoding: $0, as: UTF8.self) }
    topic = text(.topic)
    pushType = text(.pushType)
    priority = text(.priority)
    collapseId = text(.collapseID)
    expiration = text(.expiration)
    payloadBytes = push.payloadBytes
    arrival = push.arrival
    status = push.status
    reason = push.reason
  }
}
