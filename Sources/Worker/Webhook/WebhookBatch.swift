import Events
import JSON

/// The events of one request. The same bounds give the same id and, unless the stream lost some, the same body.
struct WebhookBatch: Equatable {
  let bounds: WebhookState.Batch
  /// Events in ``body``.
  let count: Int
  /// Entries of the stream that are not events.
  let skipped: Int
  let body: [UInt8]

  /// `webhook-id`: a receiver that gets the same id again has received the batch before.
  var id: String { "evt_\(bounds.first)_\(bounds.last)" }

  /// Returns nil without entries.
  init?(_ entries: [EventPage.Entry], gap: WebhookState.Gap?) {
    guard let first = entries.first, let last = entries.last else { return nil }
    bounds = WebhookState.Batch(first: first.id, last: last.id, count: entries.count)
    var events: [[UInt8]] = []
    for entry in entries {
      if let event = WebhookBatch.event(entry) { events.append(event) }
    }
    count = events.count
    skipped = entries.count - events.count
    body = WebhookBatch.body(events, gap: gap, at: EventPage.parts(of: last.id)?.milliseconds ?? 0)
  }

  /// `{"type":"events","timestamp":"2026-11-22T10:00:00.000Z","data":{"events":[{"id":"…","type":"…",…}]}}`
  private static func body(_ events: [[UInt8]], gap: WebhookState.Gap?, at milliseconds: UInt64) -> [UInt8] {
    var writer = JSONWriter(capacity: events.reduce(256) { $0 + $1.count + 1 })
    writer.beginObject()
    writer.key("type")
    writer.string("events")
    writer.key("timestamp")
    writer.string(Timestamp.text(Int64(clamping: milliseconds)))
    writer.key("data")
    writer.beginObject()
    if let gap {
      writer.key("gap")
      gap.object.write(to: &writer)
    }
    writer.key("events")
    writer.beginArray()
    for event in events { writer.raw(event) }
    writer.endArray()
    writer.endObject()
    writer.endObject()
    return writer.bytes
  }

  /// The event with its id in front. Nil if the entry is not an event. Invalid UTF-8, which names that other programs have
  /// stored may contain, is replaced.
  private static func event(_ entry: EventPage.Entry) -> [UInt8]? {
    let text = Array(String(decoding: entry.event, as: UTF8.self).utf8)
    guard let value = try? JSONValue(parsing: text), let type = value["type"]?.string,
      let at = value["at"]?.time, let data = value["data"]
    else { return nil }
    let event: JSONObject = ["id": entry.id, "type": type, "at": at, "data": data]
    return event.bytes
  }
}
