import JSON

extension Notification {
  private static let interruptionLevels = ["passive", "active", "time-sensitive", "critical"]

  /// Reads the value of one of the job's keys.
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
    default: preconditionFailure("no part of the notification")
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

extension NotificationSound {
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
      // The names are the cases' own.
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
