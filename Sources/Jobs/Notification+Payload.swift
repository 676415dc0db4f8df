package import JSON

extension Notification {
  /// `{"aps":{…}, …data}`.
  func apnsPayload() -> [UInt8] {
    var json = JSONWriter(capacity: 256 + (data?.count ?? 0))
    json.beginObject()
    write(to: &json)
    if let data { json.members(of: data) }
    json.endObject()
    return json.bytes
  }

  /// The member `aps`.
  package func write(to json: inout JSONWriter) {
    json.key("aps")
    json.beginObject()
    if hasAlert { writeAlert(to: &json) }
    if let badge {
      json.key("badge")
      json.integer(badge)
    }
    if let sound { write(sound, to: &json) }
    json.member("thread-id", threadID)
    json.member("category", category)
    if contentAvailable {
      json.key("content-available")
      json.integer(1)
    }
    if mutableContent {
      json.key("mutable-content")
      json.integer(1)
    }
    if contentChanged {
      json.key("content-changed")
      json.bool(true)
    }
    json.member("interruption-level", interruptionLevel)
    if let relevanceScore {
      json.key("relevance-score")
      json.number(relevanceScore)
    }
    json.endObject()
  }

  /// The alert of a Live Activity contains its sound.
  func writeActivityAlert(to json: inout JSONWriter) {
    guard hasAlert else { return }
    writeAlert(to: &json, withSound: true)
  }

  private func writeAlert(to json: inout JSONWriter, withSound: Bool = false) {
    json.key("alert")
    json.beginObject()
    json.member("title", title)
    json.member("subtitle", subtitle)
    json.member("body", body)
    if withSound, let sound { write(sound, to: &json) }
    json.endObject()
  }

  private func write(_ sound: NotificationSound, to json: inout JSONWriter) {
    json.key("sound")
    switch sound {
    case .named(let name): json.string(name)
    case .critical(let isCritical, let name, let volume):
      json.beginObject()
      json.key("critical")
      json.integer(isCritical ? 1 : 0)
      json.member("name", name)
      if let volume {
        json.key("volume")
        json.number(volume)
      }
      json.endObject()
    }
  }
}
