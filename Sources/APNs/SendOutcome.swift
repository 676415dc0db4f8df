/// What became of one push.
public enum SendOutcome: Sendable, Equatable {
  /// APNs accepted or refused the push.
  case answered(APNsAnswer)
  /// APNs has certainly not processed the push: it may be sent again at once. Carries the reason.
  case notProcessed(String)
  /// The push was written but not answered: it may have been delivered. Carries the reason.
  case uncertain(String)
}
