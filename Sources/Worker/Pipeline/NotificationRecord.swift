import JSON
import Jobs

/// A notification as a client finds it when it polls.
struct NotificationRecord {
  let id: String
  /// Unix ms.
  let at: Int64
  let status: JobStatus
  /// The whole payload, JSON.
  let payload: [UInt8]

  /// `{"id","at","status","payload":{…}}`
  func json() -> [UInt8] {
    var writer = JSONWriter(capacity: payload.count + 120)
    writer.beginObject()
    writer.key("id")
    writer.string(id)
    writer.key("at")
    writer.integer(at)
    writer.key("status")
    writer.string(status.rawValue)
    writer.key("payload")
    writer.raw(payload)
    writer.endObject()
    return writer.bytes
  }
}
