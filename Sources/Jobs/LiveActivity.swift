import JSON
package import PushModel

/// What a job does to a Live Activity: its field `liveActivity`.
public struct LiveActivity: Sendable, Equatable {
  public enum Event: String, Sendable, CaseIterable {
    case start, update, end
  }

  public let event: Event
  /// Of a start: the activity's id. Others name it in `to`.
  public let id: String?
  /// The text of a JSON object.
  public let contentState: [UInt8]?
  /// Unix seconds, as given.
  public let timestamp: Int64?
  /// Unix seconds.
  public let staleDate: Int64?
  /// Unix seconds.
  public let dismissalDate: Int64?
  public let relevanceScore: Double?
  /// Whether an update or an end of an activity is for everyone who has registered a token of it.
  public let isShared: Bool
  /// Only of a start.
  public let start: Start?

  /// What only a start has.
  public struct Start: Sendable, Equatable {
    /// The name of the attributes' type in the app.
    public let attributesType: String
    /// The text of a JSON object. It contains `activityId`.
    public let attributes: [UInt8]
    /// Whether the activity is to get an update token.
    public let requestsToken: Bool
    /// The name of the channel that updates the activity instead.
    public let inputChannel: String?
  }
}

extension Charset {
  /// The name of a type in Swift, also of a nested one.
  package static let attributesType = Charset("._", length: 1...128)
}

extension LiveActivity {
  /// The keys under which an activity's tokens are must not be those of another activity.
  private static let refusedSuffix = ":tokens"

  /// Whether an activity can have this id.
  public static func isID(_ text: String) -> Bool { Charset.id.accepts(text) && !text.hasSuffix(refusedSuffix) }

  /// What ``isID(_:)`` accepts, for errors.
  public static let idRule = "\(Job.idRule), not ending in \(refusedSuffix)"

  public static func isAttributesType(_ text: String) -> Bool { Charset.attributesType.accepts(text) }

  fileprivate struct Draft {
    var event: Event?
    var id: String?
    var contentState: [UInt8]?
    var timestamp: Int64?
    var staleDate: Int64?
    var dismissalDate: Int64?
    var relevanceScore: Double?
    var shared: Bool?
    var attributesType: String?
    var attributes: [UInt8]?
    var requestToken: Bool?
    var inputChannel: String?
  }

  init(from reader: inout JobReader) throws(JobError) {
    var seen: UInt64 = 0
    var draft = Draft()
    try reader.beginObject()
    while let number = try reader.nextKey(among: LiveActivityKey.names, seen: &seen) {
      // The numbers are the raw values of the cases.
      switch LiveActivityKey(rawValue: number)! {
      case .event: draft.event = try reader.choice(of: Event.self)
      case .id: draft.id = try reader.activityID()
      case .contentState: draft.contentState = try reader.object()
      case .timestamp: draft.timestamp = try reader.unixSeconds()
      case .staleDate: draft.staleDate = try reader.unixSeconds()
      case .dismissalDate: draft.dismissalDate = try reader.unixSeconds()
      case .relevanceScore: draft.relevanceScore = try reader.number()
      case .shared: draft.shared = try reader.bool()
      case .attributesType: draft.attributesType = try reader.identifier(Charset.attributesType)
      case .attributes: draft.attributes = try reader.object()
      case .requestToken: draft.requestToken = try reader.bool()
      case .inputChannel: draft.inputChannel = try reader.identifier(Charset.channelName)
      }
    }
    reader.field = "liveActivity"
    self = try LiveActivity(draft, reader)
  }

  private init(_ draft: Draft, _ reader: JobReader) throws(JobError) {
    guard let event = draft.event else { throw reader.error("event is missing; give start, update or end") }
    if event != .end, draft.contentState == nil { throw reader.error("contentState is missing; \(event) needs it") }
    if event != .end, draft.dismissalDate != nil { throw reader.error("dismissalDate: only of an end") }
    self.event = event
    id = draft.id
    contentState = draft.contentState
    timestamp = draft.timestamp
    staleDate = draft.staleDate
    dismissalDate = draft.dismissalDate
    relevanceScore = draft.relevanceScore
    isShared = draft.shared ?? false
    guard event == .start else {
      let given: [(String, Bool)] = [
        ("id", draft.id != nil), ("attributesType", draft.attributesType != nil),
        ("attributes", draft.attributes != nil),
        ("requestToken", draft.requestToken != nil), ("inputChannel", draft.inputChannel != nil),
      ]
      if let (name, _) = given.first(where: \.1) {
        let hint = name == "id" ? "; name the activity in to.activity" : ""
        throw reader.error("\(name): only of a start\(hint)")
      }
      start = nil
      return
    }
    start = try Start(draft, reader)
  }
}

extension LiveActivity.Start {
  fileprivate init(_ draft: LiveActivity.Draft, _ reader: JobReader) throws(JobError) {
    guard let id = draft.id else { throw reader.error("id is missing; a start names the activity") }
    guard let type = draft.attributesType else { throw reader.error("attributesType is missing; a start needs it") }
    guard let attributes = draft.attributes else { throw reader.error("attributes is missing; a start needs it") }
    guard draft.inputChannel == nil || draft.requestToken != true else {
      throw reader.error("requestToken: not together with inputChannel")
    }
    attributesType = type
    self.attributes = LiveActivity.Start.named(attributes, id)
    inputChannel = draft.inputChannel
    requestsToken = draft.inputChannel == nil && draft.requestToken ?? true
  }

  /// Adds the activity's id, unless the producer has set one: the app registers its update token under it.
  private static func named(_ attributes: [UInt8], _ id: String) -> [UInt8] {
    guard let value = try? JSONValue(parsing: attributes), value["activityId"] == nil else { return attributes }
    var json = JSONWriter(capacity: attributes.count + id.utf8.count + 20)
    json.beginObject()
    json.member("activityId", id)
    json.members(of: attributes)
    json.endObject()
    return json.bytes
  }
}

extension JobReader {
  /// The id of a Live Activity.
  mutating func activityID() throws(JobError) -> String {
    let id = try string()
    guard LiveActivity.isID(id) else { throw error("expected \(LiveActivity.idRule)") }
    return id
  }
}

/// The keys of `liveActivity`.
private enum LiveActivityKey: Int, CaseIterable {
  case event, id, contentState, timestamp, staleDate, dismissalDate, relevanceScore, shared
  case attributesType, attributes, requestToken, inputChannel

  static let names = FieldNames(allCases.map { "\($0)" }, in: "liveActivity.")
}

extension LiveActivity {
  /// Unix seconds from 2017 to 2049. Taken for seconds since 2001, as Swift decodes a `Date`, they are in 2048 or later.
  private static let recentSeconds = 1_500_000_000.0...2_500_000_000.0
  /// The same in milliseconds.
  private static let recentMilliseconds = recentSeconds.lowerBound * 1000...recentSeconds.upperBound * 1000

  /// What to look at before the job is sent; nil if nothing was noticed. A number of `contentState` that looks like a Unix time is
  /// the most common fault of a Live Activity: it is valid, and the date is 31 years late.
  public var hint: String? {
    guard let contentState, let value = try? JSONValue(parsing: contentState) else { return nil }
    return LiveActivity.hint(of: value)
  }

  /// As ``hint``, of the payload that is sent.
  public static func hint(ofPayload bytes: [UInt8]) -> String? {
    guard let payload = try? JSONValue(parsing: bytes), let state = payload["aps"]?["content-state"] else { return nil }
    return hint(of: state)
  }

  private static func hint(of state: JSONValue) -> String? {
    guard let path = unixTime(in: state, "contentState") else { return nil }
    return
      "\(path) looks like a Unix time. If it is a Date in the app, subtract 978307200: Swift decodes a Date as seconds "
      + "since 2001-01-01."
  }

  /// The path of the first number that looks like a Unix time.
  private static func unixTime(in value: JSONValue, _ path: String) -> String? {
    switch value {
    case .integer, .number:
      let isRecent = value.number(in: recentSeconds) != nil || value.number(in: recentMilliseconds) != nil
      return isRecent ? path : nil
    case .array(let elements):
      for (place, element) in elements.enumerated() {
        if let found = unixTime(in: element, "\(path)[\(place)]") { return found }
      }
      return nil
    case .object(let members):
      for member in members {
        if let found = unixTime(in: member.value, "\(path).\(member.key)") { return found }
      }
      return nil
    case .null, .bool, .string: return nil
    }
  }
}

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
