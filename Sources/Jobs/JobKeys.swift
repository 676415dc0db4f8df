/// The keys of a job; the order of the cases is the order of ``names``.
enum JobKey: Int, CaseIterable {
  case id, to, app, title, subtitle, body, badge, sound, category, threadId, interruptionLevel, relevanceScore
  case contentAvailable, mutableContent, data, payload, pushType, priority, collapseId, expiration, ttl, `class`,
    preview
  case sendAt, enqueuedAt, dedupe, atMostOnce, replyTo

  static let names = FieldNames(allCases.map { "\($0)" }, in: "")

  /// Whether it is a part of the notification, which `payload` and `class` exclude.
  var isPartOfNotification: Bool { rawValue >= JobKey.title.rawValue && rawValue <= JobKey.data.rawValue }
}

/// The keys of `to`.
enum AudienceKey: Int, CaseIterable {
  case user, token, tokens, instance, app

  static let names = FieldNames(allCases.map { "\($0)" }, in: "to.")
}

/// The keys of a sound that is an object.
enum SoundKey: Int, CaseIterable {
  case critical, name, volume

  static let names = FieldNames(allCases.map { "\($0)" }, in: "sound.")
}
