import Credentials
import Jobs
import JSON
import PushModel
import Sidecar

/// A notification for iOS, as a job without its tokens.
struct GorushNotification {
  /// The fields of `aps` under their own names, with dashes.
  private static let aps: KeyValuePairs<String, GorushFields.Kind> = [
    "badge": .count, "content_available": .flag, "mutable_content": .flag, "category": .text, "thread-id": .text,
    "url-args": .texts, "interruption_level": .text, "event": .text, "timestamp": .count, "stale-date": .count,
    "dismissal-date": .count, "content-state": .object, "attributes-type": .text, "attributes": .object,
    "relevance-score": .number,
  ]
  private static let alert: KeyValuePairs<String, GorushFields.Kind> = [
    "title": .text, "subtitle": .text, "body": .text, "action": .text, "action-loc-key": .text, "launch-image": .text,
    "loc-key": .text, "loc-args": .texts, "title-loc-key": .text, "title-loc-args": .texts, "summary-arg": .text,
    "summary-arg-count": .count,
  ]
  /// Further fields that make the job. Of `production`, `development` and `retry` the purpose is met otherwise: Martlet learns
  /// the environment of a token, and retries by itself.
  private static let others: Set = [
    "notif_id", "to", "topic", "tokens", "platform", "message", "title", "priority", "sound", "data", "expiration",
    "collapse_id", "push_type", "alert", "production", "development", "retry", "name", "volume",
  ]

  /// Fields that nothing is done with.
  let ignored: [String]
  /// The sender's, if it is valid.
  private let id: String?
  private let ids: JobNamespace
  private let members: JSONObject

  init(_ fields: GorushFields, of caller: GorushCaller) throws(GorushFault) {
    let payload = try GorushNotification.payload(fields)
    let topic = try fields.text("topic")
    var type = try fields.text("push_type")
    let known = type.flatMap(PushType.init(rawValue:))
    // The suffix of a topic names the type, too.
    let meant = known ?? topic.flatMap { topic in PushType.allCases.first { $0.bundleID(ofTopic: topic) != topic } }
    type = type ?? meant?.rawValue
    let priority = try fields.text("priority").map { name throws(GorushFault) in
      guard let priority = ["normal": 5, "high": 10][name] else {
        throw GorushFault(reason: "priority: expected normal or high")
      }
      return priority
    }
    // What only wakes the app is a background push, unless the sender says otherwise.
    let isSilent = ["alert", "badge", "sound"].allSatisfy { payload["aps"]?[$0] == nil }
    if isSilent, type == nil, priority != 10, payload["aps"]?["content-available"] != nil { type = "background" }
    let app = try GorushNotification.app(topic.map { meant?.bundleID(ofTopic: $0) ?? $0 }, for: caller.apps)
    id = try fields.text("notif_id").flatMap { Job.isID($0) ? $0 : nil }
    ids = caller.ids
    members = [
      "app": app, "payload": payload, "pushType": type, "priority": priority,
      "collapseId": try fields.text("collapse_id"), "expiration": try fields.value("expiration", .count),
    ]
    let names = Set(GorushNotification.aps.map(\.key)).union(GorushNotification.others)
    let texts = Set(GorushNotification.alert.map(\.key))
    ignored =
      (fields.json.members ?? []).map(\.key).filter { !names.contains($0) }
      + (fields.json["alert"]?.members ?? []).map(\.key).filter { !texts.contains($0) }.map { "alert." + $0 }
  }

  /// The job as JSON. `number`: of the jobs of this notification.
  func job(to tokens: [DeviceToken], number: Int) -> [UInt8] {
    let own = id.map { ids.jobID(number == 0 ? $0 : "\($0)-\(number)") }
    let start: JSONObject = [
      "id": own ?? JobID.random(), "to": ["tokens": tokens.map(\.text)] as JSONObject,
    ]
    return (start + members).bytes
  }

  /// The bundle id, if one is named or the caller is for one only.
  private static func app(_ named: String?, for apps: AppBinding) throws(GorushFault) -> String? {
    let app = named ?? apps.app(else: nil)
    guard apps.allows(app) else {
      throw GorushFault(
        reason: app == nil ? "topic: missing; this API key is for several apps" : "topic: not an app of this API key")
    }
    return app
  }

  // MARK: - Payload

  private static func payload(_ fields: GorushFields) throws(GorushFault) -> JSONValue {
    let data = try fields.value("data", .object)?.members ?? []
    guard !data.contains(where: { $0.key == "aps" }) else {
      throw GorushFault(reason: "data: must not contain the key aps")
    }
    var members: [JSONMember] = []
    if let alert = try alert(fields) { members.append(JSONMember(key: "alert", value: alert)) }
    if let sound = try sound(fields) { members.append(JSONMember(key: "sound", value: sound)) }
    members += try fields.members(aps, dashed: true)
    return .object([JSONMember(key: "aps", value: .object(members))] + data)
  }

  /// A string for a message alone, else an object. A member of `alert` counts more than `title` and `message`.
  private static func alert(_ fields: GorushFields) throws(GorushFault) -> JSONValue? {
    let own = try GorushFields(json: fields.value("alert", .object) ?? .null).members(alert)
    let (title, message) = (try fields.value("title", .text), try fields.value("message", .text))
    if title == nil, own.isEmpty { return message }
    var members: [JSONMember] = []
    for (key, text) in [("title", title), ("body", message)] where !own.contains(where: { $0.key == key }) {
      if let text { members.append(JSONMember(key: key, value: text)) }
    }
    return .object(members + own)
  }

  /// A name, or the object of a critical alert. `name` and `volume` of the notification change the object, or make one.
  private static func sound(_ fields: GorushFields) throws(GorushFault) -> JSONValue? {
    let over = try fields.members(["name": .text, "volume": .number])
    guard let object = fields.json["sound"], object.members != nil else {
      let sound = try fields.value("sound", .text)
      guard !over.isEmpty else { return sound }
      let name = over.contains { $0.key == "name" } ? [] : [JSONMember(key: "name", value: sound ?? .string("default"))]
      return .object([JSONMember(key: "critical", value: .integer(1))] + name + over)
    }
    let own = try GorushFields(json: object).members(["critical": .count, "name": .text, "volume": .number])
    return .object(own.filter { member in !over.contains { $0.key == member.key } } + over)
  }
}
