/// How pushes to one device are refused.
enum DeviceRule: Equatable, Sendable {
  /// The app was removed at this time, unix milliseconds.
  case unregistered(since: Int64)
  case expired(since: Int64)
  case bad
  /// Good for this topic only.
  case forTopic(String)
  case throttled
  case fixed(Answer)

  func refusal(topic: ArraySlice<UInt8>?) -> Answer? {
    switch self {
    case .unregistered(let since): Answer(410, "Unregistered", timestamp: since)
    case .expired(let since): Answer(410, "ExpiredToken", timestamp: since)
    case .bad: Answer(400, "BadDeviceToken")
    case .forTopic(let own):
      topic?.elementsEqual(own.utf8) == true ? nil : Answer(400, "DeviceTokenNotForTopic")
    case .throttled: Answer(429, "TooManyRequests")
    case .fixed(let answer): answer
    }
  }
}
