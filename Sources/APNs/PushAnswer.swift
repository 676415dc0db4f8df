/// How the sending of one push ended.
public enum PushAnswer: Sendable, Equatable {
  /// APNs answered; a refusal is an answer too.
  case answered(APNsAnswer)
  /// Certainly not processed by APNs: may be sent again at once. Says why.
  case notProcessed(String)
  /// Written, but never answered: may or may not have been delivered. Says why.
  case uncertain(String)
}
