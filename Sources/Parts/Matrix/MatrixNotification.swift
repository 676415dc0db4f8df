import JSON
import PushModel
import Registry
import Sidecar

/// The body of `/_matrix/push/v1/notify`. Members of the wrong type that need not be there count as absent.
struct MatrixNotification {
  private static let maximumDevices = 100
  /// Of the Matrix specification, for ids and types. Bytes.
  private static let maximumIDBytes = 255
  private static let counts: ClosedRange<Int64> = 0...1_000_000

  /// Nil if the notification only updates counts.
  let eventID: String?
  let roomID: String?
  /// Nil if the pusher wants ids only.
  let type: String?
  let sender: String?
  /// The name of the room, else its alias.
  let room: String?
  let isInvitation: Bool
  /// The text of a message.
  let message: String?
  let unread: Int64?
  let missedCalls: Int64?
  let isUrgent: Bool
  let devices: [MatrixDevice]

  /// Throws 400 unless there is a list of devices. One without a pushkey, which cannot be rejected, counts as absent: refused, a
  /// homeserver would send the notification again and again.
  init(_ body: JSONValue) throws(Refusal) {
    guard let fields = body["notification"], fields.members != nil else {
      throw .invalid("notification", "notification: expected an object")
    }
    guard let sent = fields["devices"]?.array, sent.count <= MatrixNotification.maximumDevices else {
      throw .invalid("devices", "devices: expected an array of at most \(MatrixNotification.maximumDevices)")
    }
    devices = sent.compactMap(MatrixDevice.init)
    eventID = MatrixNotification.id(fields["event_id"])
    roomID = MatrixNotification.id(fields["room_id"])
    type = MatrixNotification.id(fields["type"])
    sender = MatrixText.line(fields["sender_display_name"]) ?? MatrixText.line(fields["sender"])
    room = MatrixText.line(fields["room_name"]) ?? MatrixText.line(fields["room_alias"])
    isInvitation = fields["user_is_target"]?.bool == true && fields["content"]?["membership"]?.string == "invite"
    message = fields["content"]?["body"]?.string
    unread = fields["counts"]?["unread"]?.integer(in: MatrixNotification.counts)
    missedCalls = fields["counts"]?["missed_calls"]?.integer(in: MatrixNotification.counts)
    isUrgent = fields["prio"]?.string != "low"
  }

  /// Whether it is about an event, and not only about counts.
  var isOfEvent: Bool { eventID != nil || type != nil }

  /// Nil if no count is known.
  var badge: Int64? { unread == nil && missedCalls == nil ? nil : (unread ?? 0) + (missedCalls ?? 0) }

  private static func id(_ value: JSONValue?) -> String? {
    guard let text = value?.string, (1...maximumIDBytes).contains(text.utf8.count) else { return nil }
    return text.utf8.contains { $0 < 0x20 } ? nil : text
  }
}

/// A pusher of a notification.
struct MatrixDevice {
  /// Empty, and of no app, if it is missing.
  let appID: String
  let pushkey: String
  /// When the pusher was set, unix ms: the end of the second that is known; 0 if unknown.
  let setAt: Int64
  let wantsIDsOnly: Bool
  /// The members that the payload begins with. Nil if the pusher has something else there, and can never work.
  let defaultPayload: [JSONMember]?
  /// The name of a sound.
  let sound: String?
  let isHighlighted: Bool

  /// Returns nil without a pushkey.
  init?(_ value: JSONValue) {
    guard let pushkey = value["pushkey"]?.string else { return nil }
    self.pushkey = pushkey
    appID = value["app_id"]?.string ?? ""
    setAt = value["pushkey_ts"]?.integer(in: 0...Int64.max).map { Timestamp.milliseconds(of: $0) + 999 } ?? 0
    wantsIDsOnly = value["data"]?["format"]?.string == "event_id_only"
    let payload = value["data"]?["default_payload"] ?? .null
    defaultPayload = payload == .null ? [] : payload.members
    sound = MatrixText.line(value["tweaks"]?["sound"])
    isHighlighted = value["tweaks"]?["highlight"]?.bool == true
  }

  /// Nil for a text that is no token of APNs.
  var token: DeviceToken? { try? DeviceToken(apns: pushkey) }
}
