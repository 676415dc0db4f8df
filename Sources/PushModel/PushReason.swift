/// What an operator should know about a reason for which a push failed: APNs' or Martlet's own.
///
/// Source: Apple's "Handling notification responses from APNs".
public struct PushReason: Sendable {
  /// What many refusals for it mean. Nil if there is nothing to explain.
  public var meaning: String?
  /// What to do about one push. Nil if nothing can be said.
  public var advice: String?
  /// What to do about a route that is paused for it, as a part of a sentence.
  public var fix =
    "check that the key may send to this topic in this environment, and check proxies between here and APNs"
  /// Whether refusals for it are usual.
  public var isUsual = false
  /// Whether the token is no longer valid.
  public var isOfToken = false
  /// Whether the key may not send to this environment or topic.
  public var isOfKey = false

  /// What to do about a route whose tokens are no longer removed.
  public static let fixOfStoppedRemoval =
    "check the bundle id of the app and the environment of its tokens (APNS_USE_SANDBOX)"

  /// Returns what is known of a reason.
  public static func of(_ reason: String) -> PushReason { table[reason] ?? PushReason() }

  /// The reasons that something is known of.
  package static var names: [String] { table.keys.sorted() }

  /// Makes a sentence of a fix.
  public static func sentence(_ fix: String) -> String { fix.prefix(1).uppercased() + fix.dropFirst() + "." }

  /// A device that is registered under a text that is no token of APNs, or a job that names one. Nothing is sent to it.
  public static let notAnAPNsToken = "NotAnAPNsToken"

  private static let table: [String: PushReason] = [
    notAnAPNsToken: PushReason(
      meaning: "Devices are registered under texts that are no tokens of APNs. They are not sent to.",
      advice:
        "Let the app send the token that didRegisterForRemoteNotificationsWithDeviceToken gives it, as hexadecimal digits; "
        + "a token of Firebase or Expo is another one."),
    "Unregistered": removed, "ExpiredToken": removed,
    "BadDeviceToken": PushReason(
      meaning: "Tokens of the other environment, or damaged ones. Check APNS_USE_SANDBOX and the registration.",
      advice:
        "Check that the token is of the right environment (sandbox for builds from Xcode, production for TestFlight "
        + "and the App Store), and that the app registered it unchanged.", isOfToken: true),
    "DeviceTokenNotForTopic": PushReason(
      meaning: "The bundle id is not the one of the app on the device. Check apps and bundle ids.",
      advice:
        "Check the bundle id: the token was made for another app than the one that the job or the registration names.",
      isOfToken: true),
    "UnsupportedPlatform": PushReason(
      advice: "Nothing: the device is registered as android, which APNs does not serve."),
    "UnknownApp": PushReason(
      advice: "Add the device's bundle id to MARTLET_APPS, or register the device with the right one."),
    "NoChannelInEnvironment": PushReason(
      meaning: "The channel of the Live Activity does not exist in the environment of these devices.",
      advice: "Create it there, too: martlet channels create NAME --app BUNDLE, with a key for that environment."),
    "StartedBefore": PushReason(
      meaning: "Another job has started the Live Activity on these devices. It is not started twice.",
      advice: "Nothing, if a producer repeated the start. Otherwise give each activity an id of its own."),
    "WrongTokenKind": PushReason(
      meaning: "Jobs name tokens of another kind than their push type. They are not sent.",
      advice:
        "Name a token of the kind that the job's pushType goes to, as a voip token for voip, or set the pushType of this "
        + "token's kind. If the token was registered with the wrong kind, register it again with the right one."),
    "NoKeyForEnvironment": PushReason(
      meaning: "The keys of the app may not send to the environment of these devices. They are not sent to.",
      advice:
        "Add a key that may send to the device's environment (APNS_* or MARTLET_APPS), or register the device with the "
        + "right environment."),
    "UnreachableHere": PushReason(
      meaning: "No environment that can be asked knows these tokens; one that they may be of cannot be asked.",
      advice:
        "Name the gateway and a key of each environment that the app has builds for (APNS_SANDBOX_ENDPOINT_OVERRIDE, "
        + "sandboxEndpoint of the app), or let the app register again with its environment."),
    "TooManyRequests": PushReason(
      meaning: "Too many pushes to one device. They are tried again.",
      advice: "Send fewer pushes to this device, or let them replace each other with collapseId.", isUsual: true),
    "PayloadTooLarge": PushReason(
      meaning: "Over 4,096 bytes (5,120 for voip and to a channel). The producer must shorten the payload.",
      advice: invalid.advice),
    "PayloadEmpty": invalid, "BadExpirationDate": invalid, "BadCollapseId": invalid, "BadPriority": invalid,
    "BadTopic": invalid, "InvalidPushType": invalid,
    "TopicDisallowed": refusedByKey(
      "The key's team may not send to this topic. Check the bundle id.",
      "check the bundle id (of the job, the device, APNS_BUNDLE_ID) and its app: the key's team may not send to this topic"
    ),
    "ExpiredProviderToken": paused(
      "Check the clock of the workers.", "check the clock of this machine: APNs calls a fresh provider token expired"),
    "InvalidProviderToken": refusedKey, "MissingProviderToken": refusedKey,
    "UnrelatedKeyIdInToken": paused(nil, refusedKey.fix),
    "BadEnvironmentKeyIdInToken": wrongEnvironment, "BadEnvironmentKeyInToken": wrongEnvironment,
    "BadCertificateEnvironment": wrongEnvironment,
    "TooManyProviderTokenUpdates": PushReason(
      meaning: "Provider tokens are renewed too often. Do not share a key between several fleets."),
    "FeatureNotEnabled": PushReason(
      advice: "Enable Broadcast Capability under Push Notifications of the app's identifier in the developer account."),
    "ChannelNotRegistered": unknownChannel, "BadChannelId": unknownChannel, "MissingChannelId": unknownChannel,
    "CannotCreateChannelConfig": PushReason(
      advice:
        "Delete channels that are not used any more: APNs allows 10,000 of an app in each environment "
        + "(martlet channels list)."),
    "TopicMismatch": PushReason(
      advice: "Use a key that is allowed for this app: APNs says that the key is for other topics."),
    "InternalServerError": ofAPNs, "ServiceUnavailable": ofAPNs, "Shutdown": ofAPNs,
    "IdleTimeout": PushReason(advice: ofAPNs.advice),
  ]

  private static let removed = PushReason(
    meaning: "The app was removed from the device, so the token was removed. Nothing to do.",
    advice: "Nothing, if the app was deleted from the device. It registers again when the app is opened there.",
    isUsual: true, isOfToken: true)

  private static let unknownChannel = PushReason(
    advice: "See martlet channels list: the channel was deleted, or is another environment's. Create it again.",
    isOfToken: true)

  private static let invalid = PushReason(advice: "Correct the job; docs/jobs.md has the rules.")

  private static let refusedKey = paused(
    "Check the key id, the team id and the key.",
    "check the key id, the team id and the private key (APNS_* or MARTLET_APPS) and this machine's clock; "
      + "see whether the key was revoked")

  private static let wrongEnvironment = refusedByKey(
    nil, "use a key that is allowed in this environment, or set APNS_USE_SANDBOX")

  private static let ofAPNs = PushReason(
    meaning: "A fault of APNs. They are tried again.",
    advice: "Wait: APNs has a fault of its own. See https://developer.apple.com/system-status/.", isUsual: true)

  /// A reason that pauses a route because its key may not send there.
  private static func refusedByKey(_ meaning: String?, _ fix: String) -> PushReason {
    var reason = paused(meaning, fix)
    reason.isOfKey = true
    return reason
  }

  /// A reason that pauses a route.
  private static func paused(_ meaning: String?, _ fix: String) -> PushReason {
    PushReason(meaning: meaning, advice: sentence(fix), fix: fix)
  }
}
