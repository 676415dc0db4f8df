import Crypto
import Jobs
import JSON
import PushModel

/// What a notification sends to one device.
struct MatrixPush {
  let payload: [UInt8]
  let pushType: PushType

  /// Returns nil if there is nothing to say. A payload that is too large gets a shorter text, then no default payload.
  init?(_ notification: MatrixNotification, to device: MatrixDevice) {
    guard notification.isOfEvent || notification.badge != nil else { return nil }
    var text = device.wantsIDsOnly ? nil : MatrixText(notification)
    // A default payload has the text of a message, which an update of counts is not.
    let base = notification.isOfEvent ? device.defaultPayload ?? [] : []
    var push = MatrixPush(notification, device, text, base)
    if push.excess > 0, let body = text?.body {
      // Each byte of the text is at least one of the payload.
      text?.body = MatrixText.shortened(body, to: body.utf8.count - push.excess)
      push = MatrixPush(notification, device, text, base)
    }
    self = push.excess <= 0 ? push : MatrixPush(notification, device, text, [])
  }

  /// How much larger the payload is than APNs accepts. Bytes.
  private var excess: Int { payload.count - pushType.maximumPayloadBytes }

  private init(_ notification: MatrixNotification, _ device: MatrixDevice, _ text: MatrixText?, _ base: [JSONMember]) {
    let aps = MatrixPush.aps(notification, device, text, base)
    pushType = aps.contains { ["alert", "badge", "sound"].contains($0.key) } ? .alert : .background
    let members = base.replacing([
      ("aps", .object(aps)),
      ("room_id", notification.roomID.map { .string($0) }),
      ("event_id", notification.eventID.map { .string($0) }),
      ("unread_count", notification.unread.map { .integer($0) }),
      ("missed_calls", notification.missedCalls.map { .integer($0) }),
      ("highlight", device.isHighlighted ? .bool(true) : nil),
    ])
    payload = JSONValue.object(members).bytes
  }

  private static func aps(
    _ notification: MatrixNotification, _ device: MatrixDevice, _ text: MatrixText?, _ base: [JSONMember]
  ) -> [JSONMember] {
    let own = base.first { $0.key == "aps" }?.value.members ?? []
    let alert = own.first { $0.key == "alert" }?.value.members ?? []
    let shown = text.map { text in
      // A localised text would be shown in its place.
      JSONValue.object(
        alert.filter { !$0.key.contains("loc-") }.replacing([
          ("title", text.title.map { .string($0) }), ("subtitle", text.subtitle.map { .string($0) }),
          ("body", .string(text.body)),
        ]))
    }
    let aps = own.replacing([
      ("alert", shown), ("badge", notification.badge.map { .integer($0) }), ("sound", device.sound.map { .string($0) }),
    ])
    // Without an alert only the app itself can show the event.
    let isForApp = notification.isOfEvent && !aps.contains { $0.key == "alert" }
    return aps.replacing([("content-available", isForApp ? .integer(1) : nil)])
  }

  /// The job that sends the push. One event to one pusher is one job, whose id, and with it the apns-id, is derived from both; the
  /// same again is a duplicate.
  func job(
    _ notification: MatrixNotification, to device: MatrixDevice, _ token: DeviceToken, of bundleID: String,
    _ pusher: Pusher
  ) -> [UInt8] {
    let id = notification.eventID.map { "matrix-" + SHA256.hex("\($0)\n\(device.appID)\n\(device.pushkey)") }
    let job: JSONObject = [
      "id": id ?? JobID.random(), "to": ["token": token.text] as JSONObject, "app": bundleID,
      "pusher": [
        "environment": pusher.environment?.rawValue, "setAt": pusher.setAt, "address": pusher.address,
      ] as JSONObject,
      "payload": JSONText(payload), "pushType": pushType.rawValue,
      "priority": pushType.onlyPriority ?? (notification.isUrgent ? 10 : 5), "dedupe": id,
    ]
    return job.bytes
  }
}

extension [JSONMember] {
  /// The members with these values; a value that is nil replaces nothing.
  fileprivate func replacing(_ values: [(key: String, value: JSONValue?)]) -> [JSONMember] {
    let new = values.compactMap { key, value in value.map { JSONMember(key: key, value: $0) } }
    let keys = Set(new.map(\.key))
    return filter { !keys.contains($0.key) } + new
  }
}
