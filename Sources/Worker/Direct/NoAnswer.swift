import APNs

/// Why a push got no answer, in the words of docs/http/push-api.md.
enum NoAnswer {
  static let timeout = "TIMEOUT"

  private static let providerTokenReasons = [
    "ExpiredProviderToken", "InvalidProviderToken", "MissingProviderToken", "TooManyProviderTokenUpdates",
  ]

  /// Nil when there was one.
  static func reason(_ outcome: SendOutcome) -> String? {
    switch outcome {
    case .answered: nil
    case .notProcessed("Timeout"), .uncertain("Timeout"): timeout
    case .notProcessed(let why) where providerTokenReasons.contains { why.hasSuffix($0) }: "JWT_ERROR:\(why)"
    case .notProcessed(let why) where why.hasPrefix("NoConnection") || why == "ShuttingDown": "SESSION_ERROR:\(why)"
    case .notProcessed(let why), .uncertain(let why): "REQUEST_ERROR:\(why)"
    }
  }
}
