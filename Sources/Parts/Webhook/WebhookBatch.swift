import Events
import JSON
import Redis

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
    let events = entries.compactMap(WebhookBatch.event)
    count = events.count
    skipped = entries.count - events.count
    body = WebhookBatch.body(events, gap: gap, at: StreamID(parsing: last.id)?.milliseconds ?? 0)
  }

  /// `{"type":"events","timestamp":"2026-11-22T10:00:00.000Z","data":{"events":[{"id":"…","type":"…",…}]}}`
  private static func body(_ events: [JSONObject], gap: WebhookState.Gap?, at milliseconds: UInt64) -> [UInt8] {
    let body: JSONObject = [
      "type": "events", "timestamp": Timestamp.text(Int64(clamping: milliseconds)),
      "data": ["gap": gap?.object, "events": events] as JSONObject,
    ]
    return body.bytes
  }

  /// The event with its id in front. Nil if the entry is not an event. Invalid UTF-8, which names that other programs have
  /// stored may contain, is replaced.
  private static func event(_ entry: EventPage.Entry) -> JSONObject? {
    let text = Array(String(decoding: entry.event, as: UTF8.self).utf8)
    guard let value = try? JSONValue(parsing: text), let type = value["type"]?.string,
      let at = value["at"]?.time, let data = value["data"]
    else { return nil }
    return ["id": entry.id, "type": type, "at": at, "data": data]
  }
}
