package import JSON

/// The members of `aps` that a job has as fields, and the members beside `aps`.
public struct Notification: Sendable, Equatable {
  public var title: String?
  public var subtitle: String?
  public var body: String?
  public var badge: Int?
  public var sound: NotificationSound?
  public var category: String?
  public var threadID: String?
  /// `passive`, `active`, `time-sensitive` or `critical`.
  public var interruptionLevel: String?
  public var relevanceScore: Double?
  public var contentAvailable = false
  public var mutableContent = false
  /// Set for the push types that say only this.
  var contentChanged = false

  /// The text of a JSON object without a key `aps`. Its members are beside `aps`.
  public var data: [UInt8]?

  public init() {}

  var hasAlert: Bool { title != nil || subtitle != nil || body != nil }

  /// Whether the user sees or hears anything.
  var isPerceptible: Bool { hasAlert || badge != nil || sound != nil }
}

extension Notification {
  private static let interruptionLevels = ["passive", "active", "time-sensitive", "critical"]

  /// Reads the value of `key`, a part of the notification.
  mutating func read(_ key: JobKey, from reader: inout JobReader) throws(JobError) {
    switch key {
    case .title: title = try reader.string()
    case .subtitle: subtitle = try reader.string()
    case .body: body = try reader.string()
    case .badge: badge = Int(try reader.integer(in: 0...Int64(Int32.max)))
    case .sound: sound = try NotificationSound(from: &reader)
    case .category: category = try reader.string()
    case .threadId: threadID = try reader.string()
    case .interruptionLevel: interruptionLevel = try Notification.interruptionLevel(from: &reader)
    case .relevanceScore: relevanceScore = try reader.number()
    case .contentAvailable: contentAvailable = try reader.bool()
    case .mutableContent: mutableContent = try reader.bool()
    case .data: data = try reader.object(without: "aps")
    default: preconditionFailure("\(key) is not a part of the notification")
    }
  }

  private static func interruptionLevel(from reader: inout JobReader) throws(JobError) -> String {
    let level = try reader.string()
    guard interruptionLevels.contains(level) else {
      throw reader.error("expected one of \(interruptionLevels.joined(separator: ", "))")
    }
    return level
  }
}

/// The `sound` of a notification.
public enum NotificationSound: Sendable, Equatable {
  case named(String)
  /// `volume` is 0 to 1.
  case critical(isCritical: Bool, name: String, volume: Double?)

  /// Reads a name, or `{"critical":1,"name":"default","volume":0.5}`.
  init(from reader: inout JobReader) throws(JobError) {
    guard try reader.kind() == .object else {
      self = .named(try reader.string())
      return
    }
    var seen: UInt64 = 0
    var isCritical = false
    var name: String?
    var volume: Double?
    try reader.beginObject()
    while let number = try reader.nextKey(among: SoundKey.names, seen: &seen) {
      // The numbers are the raw values of the cases.
      switch SoundKey(rawValue: number)! {
      case .critical: isCritical = try reader.integer(in: 0...1) == 1
      case .name: name = try reader.string()
      case .volume: volume = try NotificationSound.volume(from: &reader)
      }
    }
    reader.field = "sound"
    guard let name else { throw reader.error("name is missing") }
    self = .critical(isCritical: isCritical, name: name, volume: volume)
  }

  private static func volume(from reader: inout JobReader) throws(JobError) -> Double {
    let volume = try reader.number()
    guard (0...1).contains(volume) else { throw reader.error("expected a number from 0 to 1") }
    return volume
  }
}

/// The keys of a sound that is an object.
private enum SoundKey: Int, CaseIterable {
  case critical, name, volume

  static let names = FieldNames(allCases.map { "\($0)" }, in: "sound.")
}

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
