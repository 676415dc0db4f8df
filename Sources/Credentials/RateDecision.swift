/// Whether a request is let in.
public enum RateDecision: Sendable, Equatable {
  case admitted
  /// More than a burst at once. Seconds until there is room for one request, at least 1.
  case tooFast(retryAfter: Int)
  /// The day's requests are used up. Seconds until midnight UTC, at least 1.
  case dayUsedUp(retryAfter: Int)

  private static let secondsOfDay: Int64 = 86_400
  /// Of a request, in which the bucket is counted.
  private static let millionths = 1_000_000

  /// From what the script of ``RateLimiter`` says.
  init(decision: Int64, detail: Int64, _ quota: KeyQuota) {
    switch decision {
    case 1: self = .admitted
    case -1:
      self = .dayUsedUp(retryAfter: Int(min(max(RateDecision.secondsOfDay - detail, 1), RateDecision.secondsOfDay)))
    default:
      // A key that gets no requests a second never has room: it may ask again tomorrow whether that has changed.
      guard quota.perSecond > 0 else {
        self = .tooFast(retryAfter: Int(RateDecision.secondsOfDay))
        return
      }
      let perSecond = Int64(min(quota.perSecond, RateDecision.millionths)) * Int64(RateDecision.millionths)
      let whole = detail / perSecond + (detail % perSecond > 0 ? 1 : 0)
      self = .tooFast(retryAfter: Int(min(max(whole, 1), RateDecision.secondsOfDay)))
    }
  }
}
