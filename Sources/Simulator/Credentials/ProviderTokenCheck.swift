/// What a provider token is worth at a time.
enum ProviderTokenCheck: Equatable {
  case valid, missing, invalid, expired, updatedTooOften

  var refusal: Answer? {
    switch self {
    case .valid: nil
    case .missing: Answer(403, "MissingProviderToken")
    case .invalid: Answer(403, "InvalidProviderToken")
    case .expired: Answer(403, "ExpiredProviderToken")
    case .updatedTooOften: Answer(429, "TooManyProviderTokenUpdates")
    }
  }
}
