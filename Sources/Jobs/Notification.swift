/// The parts of `aps` that a job names one by one, and what goes beside them.
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

  /// The text of a JSON object without a key `aps`.
  public var data: [UInt8]?

  public init() {}

  var hasAlert: Bool { title != nil || subtitle != nil || body != nil }

  /// Whether the user sees or hears anything of it.
  var isPerceptible: Bool { hasAlert || badge != nil || sound != nil }
}
