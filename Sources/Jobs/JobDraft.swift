import JSON
import PushModel

/// The fields of a job while they are read. ``job()`` checks how they go together.
package struct JobDraft {
  package static let previewLength = 1...200
  /// The prefixes of Martlet's own keys. A queue or a `replyTo` must not begin with one of them.
  package static let reservedPrefixes = [
    "martlet:", "push:token:", "push:user:", "push:result:", "push:app:", "push:instance:", "push:topic:",
    "push:badge:", "push:activity:", "push:channel:", "push:events",
  ]
  /// A `replyTo` must not name a default queue either.
  private static let refusedReplyPrefixes = reservedPrefixes + ["push:jobs"]

  /// The fields that the job has.
  private var given: UInt64 = 0
  private var hasNullInPayload = false
  private var id: String?
  private var addressee: Addressee?
  private var app: String?
  private(set) var notification = Notification()
  private var payload: [UInt8]?
  private var activity: LiveActivity?
  private var className: String?
  private var preview: String?
  private var pushType: PushType?
  private(set) var priority: Int?
  private(set) var collapseID: String?
  private var expiration: Int64?
  private var ttl: Int64?
  private var sendAt: Int64?
  private var enqueuedAt: Int64?
  private var dedupe: String?
  private var atMostOnce = false
  private var replyTo: String?
  private var trace: TraceParent?
  private var pusher: Pusher?

  mutating func read(from reader: inout JobReader) throws(JobError) {
    var seen: UInt64 = 0
    try reader.beginObject()
    while let number = try reader.nextKey(among: JobKey.names, seen: &seen) {
      given |= 1 << UInt64(number)
      // The numbers are the raw values of the cases.
      let key = JobKey(rawValue: number)!
      if key.isPartOfNotification {
        try notification.read(key, from: &reader)
      } else {
        try read(key, from: &reader)
      }
    }
    reader.field = ""
    hasNullInPayload = reader.hasNullInPayload
  }

  /// Takes from the element around the job what the job does not say itself.
  mutating func complete(from wrapped: WrappedJob) {
    id = id ?? wrapped.id
    sendAt = sendAt ?? wrapped.sendAt
    if ttl == nil { expiration = expiration ?? wrapped.expiration }
  }

  /// Reads a preview, which is shown in one line.
  private static func preview(from reader: inout JobReader) throws(JobError) -> String {
    let text = try reader.string(of: previewLength)
    guard !text.unicodeScalars.contains(where: PreviewText.breaksLine) else {
      throw reader.error("expected one line without control characters")
    }
    guard text.unicodeScalars.contains(where: PreviewText.isVisible) else {
      throw reader.error("expected at least one visible character")
    }
    return text
  }

  private mutating func read(_ key: JobKey, from reader: inout JobReader) throws(JobError) {
    switch key {
    case .id: id = try reader.identifier(Charset.id)
    case .to: addressee = try Addressee(from: &reader)
    case .app: app = try reader.identifier(Charset.bundleID)
    case .payload: payload = try reader.object()
    case .liveActivity: activity = try LiveActivity(from: &reader)
    case .pushType: pushType = try reader.choice(of: PushType.self)
    case .priority: priority = try JobDraft.priority(from: &reader)
    case .collapseId: collapseID = try JobDraft.collapseID(from: &reader)
    case .expiration: expiration = try reader.unixSeconds()
    case .ttl: ttl = try reader.integer(in: 0...Job.maximumTTL)
    case .class: className = try reader.identifier(Charset.className)
    case .preview: preview = try JobDraft.preview(from: &reader)
    case .sendAt: sendAt = try JobDraft.sendAt(from: &reader)
    case .enqueuedAt: enqueuedAt = try reader.integer(in: 0...Timestamp.maximum)
    case .dedupe: dedupe = try reader.string(of: 1...256)
    case .atMostOnce: atMostOnce = try reader.bool()
    case .replyTo: replyTo = try JobDraft.replyTo(from: &reader)
    case .trace: trace = try JobDraft.trace(from: &reader)
    case .pusher: pusher = try Pusher(from: &reader)
    default: preconditionFailure("\(key) is a part of the notification")
    }
  }

  consuming func job() throws(JobError) -> Job {
    guard let addressee else { throw JobError(reason: "to: missing; name the addressee") }
    guard expiration == nil || ttl == nil else {
      throw JobError(reason: "ttl: not together with expiration; give one of them")
    }
    let pushType = pushType(for: addressee)
    if case .app = addressee, pushType.kind != .app {
      throw JobError(
        reason:
          "pushType: \(pushType) has no audience; to.app takes alert or background, name a user or tokens for others")
    }
    if pusher != nil {
      guard case .token = addressee else { throw JobError(reason: "pusher: only together with to.token") }
    }
    let content = try content(for: addressee, as: pushType)
    let priority = priority ?? defaultPriority(of: content, as: pushType)
    if let only = pushType.onlyPriority, priority != only {
      throw JobError(reason: "priority: must be \(only) when pushType is \(pushType)")
    }
    return Job(
      id: id, addressee: addressee, app: app, content: content, pushType: pushType, priority: priority,
      collapseID: collapseID ?? activity?.startCollapseID,
      expiration: expiration ?? (ttl == nil ? pushType.defaultExpiration : nil), ttl: ttl, sendAt: sendAt,
      enqueuedAt: enqueuedAt, dedupe: dedupe,
      // An uncertain start is not sent again: the device would show the activity twice.
      atMostOnce: atMostOnce || activity?.event == .start, replyTo: replyTo, trace: trace, pusher: pusher,
      hasNullInPayload: hasNullInPayload)
  }

  private func pushType(for addressee: Addressee) -> PushType {
    if let pushType { return pushType }
    if has(.liveActivity) || addressee.isActivity { return .liveactivity }
    if case .channel = addressee { return .liveactivity }
    let isSilent = notification.contentAvailable && !notification.isPerceptible
    // A background push has priority 5. A job with another one is an alert.
    return isSilent && (priority ?? 5) == 5 ? .background : .alert
  }

  private mutating func content(for addressee: Addressee, as pushType: PushType) throws(JobError) -> JobContent {
    if has(.liveActivity), let activity { return try content(activity, for: addressee, as: pushType) }
    if addressee.isActivity { return try newestState(for: addressee, as: pushType) }
    if case .channel = addressee {
      throw JobError(reason: "liveActivity: missing; a job to a channel updates or ends Live Activities")
    }
    if let className { return try classed(className, for: addressee) }
    guard preview == nil else { throw JobError(reason: "preview: only together with class") }
    if case .instance = addressee {
      throw JobError(reason: "class: missing; a job to an instance names a class of a delivery policy")
    }
    if let payload {
      try refuseNotification { "\($0): not together with payload" }
      return .payload(payload)
    }
    if pushType.saysContentChanged {
      try refuseNotification(keeping: [.data]) {
        "\($0): not with pushType \(pushType), which takes data or payload only"
      }
      notification.contentChanged = true
    }
    // APNs drops a background push without content-available.
    if pushType == .background { notification.contentAvailable = true }
    guard notification.isPerceptible || notification.contentAvailable || pushType.isCarriedByDataAlone else {
      throw JobError(
        reason: "nothing to send: give title, subtitle, body, badge, sound, contentAvailable: true, payload or class")
    }
    if let score = notification.relevanceScore, pushType != .liveactivity, !(0...1).contains(score) {
      throw JobError(reason: "relevanceScore: expected a number from 0 to 1")
    }
    return .payload(notification.apnsPayload())
  }

  private func classed(_ className: String, for addressee: Addressee) throws(JobError) -> JobContent {
    guard case .instance = addressee else { throw JobError(reason: "class: only for a job to an instance") }
    guard payload == nil else { throw JobError(reason: "payload: not together with class") }
    guard pushType ?? .alert == .alert else { throw JobError(reason: "pushType: a class is always an alert") }
    try refuseNotification { "\($0): not together with class" }
    return .classed(className, preview: preview)
  }

  /// Refuses the parts of a notification, except `kept`.
  func refuseNotification(keeping kept: [JobKey] = [], _ reason: (JobKey) -> String) throws(JobError) {
    for key in JobKey.allCases where key.isPartOfNotification && has(key) && !kept.contains(key) {
      throw JobError(reason: reason(key))
    }
  }

  func has(_ key: JobKey) -> Bool { given & 1 << UInt64(key.rawValue) != 0 }

  private static func priority(from reader: inout JobReader) throws(JobError) -> Int {
    let priority = try reader.integer(in: 1...10)
    guard [1, 5, 10].contains(priority) else { throw reader.error("expected 1, 5 or 10") }
    return Int(priority)
  }

  /// The value of a header, so it has no control characters and no white space at its ends.
  private static func collapseID(from reader: inout JobReader) throws(JobError) -> String {
    let id = try reader.string()
    guard Job.collapseBytes.contains(id.utf8.count) else { throw reader.error("expected 1 to 64 bytes of UTF-8") }
    guard !id.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }), id.utf8.first != 0x20, id.utf8.last != 0x20 else {
      throw reader.error("must not contain control characters, nor begin or end with a space")
    }
    return id
  }

  private static func sendAt(from reader: inout JobReader) throws(JobError) -> Int64 {
    guard try reader.kind() == .string else { return try reader.unixMilliseconds() }
    guard let time = Timestamp.milliseconds(try reader.string()) else {
      throw reader.error("expected a time with a zone, as in 2026-01-31T09:30:00Z, or unix milliseconds")
    }
    return time
  }

  private static func trace(from reader: inout JobReader) throws(JobError) -> TraceParent {
    guard let trace = TraceParent(try reader.string()) else { throw reader.error("expected \(TraceParent.expected)") }
    return trace
  }

  private static func replyTo(from reader: inout JobReader) throws(JobError) -> String {
    let key = try reader.string(of: 1...512)
    for reserved in refusedReplyPrefixes where key.utf8.starts(with: reserved.utf8) {
      throw reader.error("keys that begin with \(reserved) are Martlet's own; name another list")
    }
    return key
  }
}

/// The keys of a job. ``names`` has the order of the cases.
enum JobKey: Int, CaseIterable {
  case id, to, app, title, subtitle, body, badge, sound, category, threadId, interruptionLevel, relevanceScore
  case contentAvailable, mutableContent, data, payload, liveActivity, pushType, priority, collapseId, expiration, ttl
  case `class`, preview
  case sendAt, enqueuedAt, dedupe, atMostOnce, replyTo, trace, pusher

  static let names = FieldNames(
    allCases.map { "\($0)" }, in: "",
    foreign: [
      "user": "to.user", "username": "to.user", "userId": "to.user", "token": "to.token", "tokens": "to.tokens",
      "deviceToken": "to.token", "registration_ids": "to.tokens", "topic": "app, the bundle id",
      "alert": "title and body",
      "message": "body", "text": "body", "notification": "title and body, beside to", "aps": "payload, with aps in it",
      "custom": "data", "bundleId": "app",
    ])

  /// Whether it is a part of the notification, which does not go together with `payload` or `class`.
  var isPartOfNotification: Bool { rawValue >= JobKey.title.rawValue && rawValue <= JobKey.data.rawValue }
}

/// How the fields of a job to a Live Activity go together.
extension JobDraft {
  func content(
    _ activity: LiveActivity, for addressee: Addressee, as pushType: PushType
  ) throws(JobError) -> JobContent {
    guard pushType == .liveactivity else {
      throw JobError(reason: "pushType: a job with liveActivity is a liveactivity")
    }
    for key in [JobKey.payload, .class, .preview] where has(key) {
      throw JobError(reason: "\(key): not together with liveActivity")
    }
    try refuseNotification(keeping: [.title, .body, .sound, .data]) {
      "\($0): not together with liveActivity, which takes title, body, sound and data"
    }
    switch (addressee, activity.event) {
    case (.user, .start), (.token, _), (.tokens, _), (.activity, .update), (.activity, .end): break
    case (.channel, .start):
      throw JobError(
        reason: "to: a channel cannot start a Live Activity; name it in liveActivity.inputChannel of a start")
    case (.channel, _):
      guard collapseID == nil else { throw JobError(reason: "collapseId: not for a channel, which has no such thing") }
    case (.activity, .start), (.activityToken, .start):
      throw JobError(
        reason: "to: a start goes to a user or to push-to-start tokens; liveActivity.id names the activity")
    case (.activityToken, _):
      throw JobError(reason: "liveActivity: not to a token of an activity, which gets the newest state")
    case (_, .start): throw JobError(reason: "to: liveActivity start goes to a user or to push-to-start tokens")
    default: throw JobError(reason: "to: liveActivity \(activity.event) goes to an activity or to tokens of it")
    }
    if activity.isShared {
      guard case .activity(_, user: nil) = addressee else {
        throw JobError(reason: "liveActivity.shared: only of an update or an end to to.activity without to.user")
      }
    }
    guard activity.event != .start || notification.title != nil || notification.body != nil else {
      throw JobError(reason: "title: missing; the start of a Live Activity needs title or body")
    }
    guard notification.sound == nil || notification.hasAlert else {
      throw JobError(reason: "sound: only together with title or body; it is a part of the alert of a Live Activity")
    }
    // Only a broadcast may have the lowest one.
    let isBroadcast = if case .channel = addressee { true } else { false }
    guard priority != 1 || isBroadcast else {
      throw JobError(reason: "priority: must be 5 or 10 for a Live Activity")
    }
    return .activity(activity, notification)
  }

  func newestState(for addressee: Addressee, as pushType: PushType) throws(JobError) -> JobContent {
    guard pushType == .liveactivity else { throw JobError(reason: "pushType: a job to an activity is a liveactivity") }
    guard case .activityToken = addressee else {
      throw JobError(reason: "liveActivity: missing; a job to an activity updates or ends it")
    }
    for key in [JobKey.payload, .class, .preview] where has(key) {
      throw JobError(reason: "\(key): not to a token of an activity, which gets the newest state")
    }
    try refuseNotification { "\($0): not to a token of an activity, which gets the newest state" }
    return .newestState
  }

  func defaultPriority(of content: JobContent, as pushType: PushType) -> Int {
    guard case .activity(let activity, let notification) = content else { return pushType.defaultPriority }
    return activity.event == .update && !notification.hasAlert ? 5 : 10
  }
}
