import JSON

extension LiveActivity {
  /// `{"aps":{…}, …data}`. `timestamp` is in unix seconds; the device shows the state with the newest one.
  ///
  /// `channel` is APNs' id of the channel that updates the activity; nil if none does.
  package func apnsPayload(_ notification: Notification, timestamp: Int64, channel: String? = nil) -> [UInt8] {
    var json = JSONWriter(capacity: 512 + (contentState?.count ?? 0) + (start?.attributes.count ?? 0))
    json.beginObject()
    json.key("aps")
    json.beginObject()
    json.member("timestamp", timestamp)
    json.member("event", event.rawValue)
    if let start { write(start, channel, to: &json) }
    if let contentState {
      json.key("content-state")
      json.raw(contentState)
    }
    if let staleDate { json.member("stale-date", staleDate) }
    if let dismissalDate { json.member("dismissal-date", dismissalDate) }
    if let relevanceScore {
      json.key("relevance-score")
      json.number(relevanceScore)
    }
    notification.writeActivityAlert(to: &json)
    json.endObject()
    if let data = notification.data { json.members(of: data) }
    json.endObject()
    return json.bytes
  }

  /// Which part of the payload to shorten: `contentState (3000 bytes)`.
  package func largestPart(with notification: Notification) -> String {
    let parts: [(name: String, bytes: Int?)] = [
      ("contentState", contentState?.count), ("attributes", start?.attributes.count),
      ("data", notification.data?.count), ("title", notification.title?.utf8.count),
      ("body", notification.body?.utf8.count),
    ]
    return parts.max { $0.bytes ?? 0 < $1.bytes ?? 0 }.map { "\($0.name) (\($0.bytes ?? 0) bytes)" } ?? ""
  }

  private func write(_ start: Start, _ channel: String?, to json: inout JSONWriter) {
    json.member("attributes-type", start.attributesType)
    json.key("attributes")
    json.raw(start.attributes)
    if start.requestsToken { json.member("input-push-token", 1) }
    json.member("input-push-channel", channel)
  }

  /// APNs shows one notification for each collapse id: the start of an activity has one of its own. At most 64 bytes.
  var startCollapseID: String? {
    guard event == .start, let id else { return nil }
    return id.utf8.count <= Job.collapseBytes.upperBound ? id : apnsID(jobID: id, token: event.rawValue)
  }
}
