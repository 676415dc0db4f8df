/// Apple's rules for the management of channels and for broadcasts.
///
/// Source: "Sending channel management requests to APNs" and "Sending broadcast push notification requests to APNs".
extension PushRules {
  /// Bytes.
  static let maximumBroadcast = 5120

  /// Returns the refusal of method and path; nil if they are valid.
  func refusal(of target: RequestTarget, _ head: RequestHead) -> Answer? {
    guard let bundleID = target.bundleID, !bundleID.isEmpty, !bundleID.contains("/") else {
      return Answer(404, "BadPath")
    }
    let methods: Set =
      switch target {
      case .channel: ["POST", "GET", "DELETE"]
      case .allChannels: ["GET"]
      case .broadcast, .push, .unknown: ["POST"]
      }
    guard methods.contains(head.text(head[.method]) ?? "") else { return Answer(405, "MethodNotAllowed") }
    return head.hasDuplicates ? Answer(400, "DuplicateHeaders") : nil
  }

  /// Returns the refusal of a bundle id and of the request's id; nil if they are valid.
  func refusal(ofApp bundleID: String, _ head: RequestHead) -> Answer? {
    if let id = head[.requestID], PushID(id) == nil { return Answer(400, "BadMessageId") }
    let suffix = "\(PushType.liveactivity.topicSuffix)"
    let isAllowed = topics.map { $0.contains(bundleID) || $0.contains(bundleID + suffix) } ?? true
    return isAllowed && !bundleID.hasSuffix(suffix) ? nil : Answer(400, "TopicDisallowed")
  }

  /// Returns the refusal of a broadcast to a channel; nil if it is valid. Only the first bytes of a `body` that is too long are
  /// needed.
  func refusal(ofBroadcast head: RequestHead, _ body: [UInt8], to channel: Channels.Channel) -> Answer? {
    guard let type = head[.pushType] else { return Answer(400, "MissingPushType") }
    guard PushType(type) == .liveactivity else { return Answer(400, "InvalidPushType") }
    // Absent means 10.
    guard ["1", "5", "10", nil].contains(head.text(head[.priority])) else { return Answer(400, "BadPriority") }
    let expiration = head.text(head[.expiration])
    let isDate = expiration.map { PushRules.isInteger(Array($0.utf8)[...]) } ?? true
    guard isDate, channel.keepsNewest || expiration == "0" else { return Answer(400, "BadExpirationDate") }
    if body.isEmpty { return Answer(400, "PayloadEmpty") }
    if body.count > PushRules.maximumBroadcast { return Answer(413, "PayloadTooLarge") }
    // A broadcast cannot start an activity.
    switch LiveActivityPayload(parsing: body)?.event {
    case .update, .end: return nil
    case .start, nil: return Answer(400, "BadRequestPayload")
    }
  }
}
