import JSON

extension Job {
  /// What is sent to every device of the job; build it once. Throws `PayloadTooLarge: …` before APNs has to say so.
  public func apnsPayload() throws(JobError) -> [UInt8] {
    let bytes =
      switch content {
      case .payload(let bytes): bytes
      case .notification(let notification): notification.apnsPayload()
      case .classed(let notificationClass, let preview): classedPayload(notificationClass, preview)
      }
    guard bytes.count <= pushType.maximumPayloadBytes else {
      throw JobError(reason: "PayloadTooLarge: \(bytes.count) bytes, at most \(pushType.maximumPayloadBytes)")
    }
    return bytes
  }

  /// The shape of contracts/nyra-apns-base-1.0.md, 3.3.
  private func classedPayload(_ notificationClass: NotificationClass, _ preview: String?) -> [UInt8] {
    guard case .instance(let instance) = audience else { preconditionFailure("a class goes to an instance") }
    var aps = Notification()
    aps.title = "Nyra"
    aps.body = preview ?? notificationClass.defaultPreview
    aps.sound = .named("default")
    aps.badge = 1
    aps.contentAvailable = true
    var json = JSONWriter(capacity: 256)
    json.beginObject()
    aps.write(to: &json)
    json.key("nyra")
    json.beginObject()
    json.key("class")
    json.string(notificationClass.rawValue)
    json.key("instance_id")
    json.string(instance)
    json.key("hint")
    json.string("poll")
    json.endObject()
    json.endObject()
    return json.bytes
  }
}
