import JSON

/// The payload of a push of type `liveactivity`.
///
/// Source: Apple's "Starting and updating Live Activities with ActivityKit push notifications".
struct LiveActivityPayload: Equatable, Sendable {
  /// What decides whether and how a device starts an activity.
  struct Start: Equatable, Sendable {
    let attributesType: String
    /// The text member `activityId` of the attributes; empty without one.
    let activityID: String
    let input: Input
  }

  /// Where the updates of a started activity come from.
  enum Input: Equatable, Sendable {
    /// `input-push-token` and `input-push-channel` are absent: it gets none.
    case none
    case token
    case channel(String)
  }

  enum Event: Equatable, Sendable {
    case start(Start)
    case update
    case end
  }

  /// Unix seconds. Milliseconds are out of the range.
  private static let times: ClosedRange<Int64> = 0...1 << 36

  let event: Event
  /// Unix seconds.
  let timestamp: Int64
  /// An object; nil only for an end that leaves the state as it is.
  let contentState: JSONValue?

  /// Returns nil if the payload breaks a rule.
  init?(parsing body: [UInt8]) {
    guard let aps = (try? JSONValue(parsing: body))?["aps"],
      let timestamp = aps["timestamp"]?.integer(in: LiveActivityPayload.times)
    else { return nil }
    self.timestamp = timestamp
    contentState = aps["content-state"]
    guard contentState == nil || contentState?.members != nil else { return nil }
    switch aps["event"]?.string {
    case "start":
      guard contentState != nil, let start = Start(aps) else { return nil }
      event = .start(start)
    case "update" where contentState != nil: event = .update
    case "end": event = .end
    default: return nil
    }
  }
}

extension LiveActivityPayload.Start {
  fileprivate init?(_ aps: JSONValue) {
    guard let type = aps["attributes-type"]?.string, !type.isEmpty, let attributes = aps["attributes"],
      attributes.members != nil, let alert = aps["alert"]?.members, !alert.isEmpty
    else { return nil }
    attributesType = type
    activityID = attributes["activityId"]?.string ?? ""
    switch (aps["input-push-token"], aps["input-push-channel"]) {
    case (nil, nil): input = .none
    case (.integer(1), nil): input = .token
    case (nil, .string(let channel)) where !channel.isEmpty: input = .channel(channel)
    default: return nil
    }
  }
}
