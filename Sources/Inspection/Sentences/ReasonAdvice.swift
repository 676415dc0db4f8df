import APNs

/// What to do about the reason for which a push failed: APNs' or Martlet's own.
enum ReasonAdvice {
  /// Returns nil if nothing needs to be done, or nothing can be said.
  static func advice(_ reason: String) -> String? {
    switch reason {
    case "Unregistered", "ExpiredToken":
      "Nothing, if the app was deleted from the device. It registers again when the app is opened there."
    case "BadDeviceToken":
      "Check that the token is of the right environment (sandbox for builds from Xcode, production for TestFlight and the "
        + "App Store), and that the app registered it unchanged."
    case "DeviceTokenNotForTopic":
      "Check the bundle id: the token was made for another app than the one that the job or the registration names."
    case "UnsupportedPlatform": "Nothing: the device is registered as android, which APNs does not serve."
    case "UnknownApp": "Add the device's bundle id to MARTLET_APPS, or register the device with the right one."
    case "PayloadTooLarge", "PayloadEmpty", "BadExpirationDate", "BadCollapseId", "BadPriority", "BadTopic",
      "InvalidPushType":
      "Correct the job; docs/jobs.md has the rules."
    case "TooManyRequests": "Send fewer pushes to this device, or let them replace each other with collapseId."
    case "TopicDisallowed", "ExpiredProviderToken", "InvalidProviderToken", "MissingProviderToken",
      "UnrelatedKeyIdInToken", "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken", "BadCertificateEnvironment":
      sentence(RouteNotice.fix(ofPauseFor: reason))
    case "InternalServerError", "ServiceUnavailable", "Shutdown", "IdleTimeout":
      "Wait: APNs has a fault of its own. See https://developer.apple.com/system-status/."
    default: nil
    }
  }

  /// Makes a sentence of a fix.
  static func sentence(_ fix: String) -> String { fix.prefix(1).uppercased() + fix.dropFirst() + "." }
}
