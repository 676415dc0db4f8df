/// What the reasons of APNs mean for an operator.
enum ReasonMeaning {
  /// Returns nil for a reason that needs no explanation here.
  static func text(_ reason: String) -> String? {
    switch reason {
    case "Unregistered", "ExpiredToken": "The app was removed from the device, so the token was removed. Nothing to do."
    case "BadDeviceToken":
      "Tokens of the other environment, or damaged ones. Check APNS_USE_SANDBOX and the registration."
    case "DeviceTokenNotForTopic": "The bundle id is not the one of the app on the device. Check apps and bundle ids."
    case "TopicDisallowed": "The key's team may not send to this topic. Check the bundle id."
    case "PayloadTooLarge": "Over 4 KiB. The producer must shorten the payload."
    case "TooManyRequests": "Too many pushes to one device. They are tried again."
    case "TooManyProviderTokenUpdates":
      "Provider tokens are renewed too often. Do not share a key between several fleets."
    case "ExpiredProviderToken": "Check the clock of the workers."
    case "InvalidProviderToken", "MissingProviderToken": "Check the key id, the team id and the key."
    case "InternalServerError", "ServiceUnavailable", "Shutdown": "A fault of APNs. They are tried again."
    default: nil
    }
  }

  /// Whether refusals for this reason are usual.
  static func isUsual(_ reason: String) -> Bool {
    ["Unregistered", "ExpiredToken", "TooManyRequests", "InternalServerError", "ServiceUnavailable", "Shutdown"]
      .contains(reason)
  }
}
