/// What is known of Apple's gateway: the one list. The simulator does it, Martlet's client relies on it, `martlet gateway` asks for it.
package struct GatewayFact: Sendable {
  package enum Certainty: String, Sendable {
    /// By Apple.
    case documented
    /// Seen by others at Apple's gateway.
    case recorded
    /// Nobody has said so: an answer is news.
    case assumed
  }

  /// What it takes to ask.
  package enum Need: Int, Sendable, Comparable {
    case nothing, key, token, renewal, idleness

    package static func < (left: Need, right: Need) -> Bool { left.rawValue < right.rawValue }
  }

  package let id: String
  /// What is asked.
  package let question: String
  /// The answers that are expected.
  package let expected: [String]
  package let certainty: Certainty
  package let source: String
  package let need: Need

  private init(
    _ id: String, _ question: String, _ expected: String..., as certainty: Certainty, by source: String,
    with need: Need = .nothing
  ) {
    self.id = id
    self.question = question
    self.expected = expected
    self.certainty = certainty
    self.source = source
    self.need = need
  }

  private static let pages = "Apple, "
  private static let responses = pages + "Handling notification responses"
  private static let requests = pages + "Sending notification requests"
  private static let connections = pages + "Establishing a connection"
  private static let tokens = pages + "Establishing a token-based connection"

  /// In the order in which they are asked.
  package static let all: [GatewayFact] = [
    GatewayFact(
      "tls", "version of TLS", "TLSv1.3", "TLSv1.2", as: .documented, by: connections),
    GatewayFact(
      "client-certificate", "does TLS ask for a client certificate", "yes", as: .recorded,
      by: "transcripts of curl, 2019 to 2022"),
    GatewayFact(
      "first-settings", "SETTINGS before the first push", "1=4096 3=1 4=65535 5=16384 6=8000", as: .recorded,
      by: "Apple's forum, thread 54407; pushy#356, #476, #878"),
    GatewayFact("ping", "PING", "acknowledged", as: .documented, by: connections),
    GatewayFact(
      "method", "GET /", "405 MethodNotAllowed", as: .recorded, by: "transcript of 2026-09; pushy#736"),
    GatewayFact(
      "no-token", "a push without a provider token", "403 MissingProviderToken", as: .documented, by: responses),
    GatewayFact(
      "order", "a device token of 4 digits without a provider token", "403 MissingProviderToken", as: .recorded,
      by: "transcript of 2026-09"),
    GatewayFact(
      "no-device", "no device token and no provider token", "403 MissingProviderToken", "400 MissingDeviceToken",
      as: .assumed, by: "an example of netty"),
    GatewayFact(
      "bad-token", "a provider token that is none", "403 InvalidProviderToken", as: .documented, by: responses),
    GatewayFact("bad-path", "the path /3/nothing", "404 BadPath", as: .documented, by: responses),
    GatewayFact(
      "refusal-fields", "fields of a refusal", ":status apns-id", as: .recorded,
      by: "PoutouPush#3, firebase-ios-sdk#4042, PushNotification#170"),
    GatewayFact(
      "refusal-body", "body of a refusal", #"{"reason":"MissingProviderToken"}"#, as: .recorded,
      by: "the same transcripts"),
    GatewayFact(
      "made-id", "case of an apns-id that APNs makes", "upper", as: .recorded, by: "every transcript"),
    GatewayFact("given-id", "an apns-id that was given", "the same", as: .documented, by: requests),
    GatewayFact(
      "upper-id", "an apns-id that was given in upper case", "the same", as: .assumed, by: "found nowhere"),
    GatewayFact(
      "long-header", "a header list of 9 KB", "431", "RST_STREAM 1", "RST_STREAM 11", as: .assumed,
      by: "netty's default"),
    GatewayFact(
      "unproven-streams", "streams after these refusals", "1", as: .documented, by: connections),
    GatewayFact(
      "nobody", "a push to a token that no device has", "400 BadDeviceToken", as: .documented, by: responses, with: .key
    ),
    GatewayFact(
      "proven-streams", "most streams after a valid provider token", "1000", as: .recorded,
      by: "transcript of 2022 (curl 7.79)", with: .key),
    GatewayFact(
      "full-settings", "settings of each later change", "1 3 4 5 6", as: .recorded, by: "pushy#476, #878", with: .key),
    GatewayFact(
      "refused-streams", "streams after the refusal", "1", as: .recorded,
      by: "openradar 27870881, pushy#356, #476", with: .key),
    GatewayFact("empty", "a push without a payload", "400 PayloadEmpty", as: .documented, by: responses, with: .key),
    GatewayFact(
      "large", "a payload of 4,097 bytes", "413 PayloadTooLarge", as: .documented, by: responses, with: .key),
    GatewayFact(
      "malformed", "a payload that is no JSON", "400 BadPayload", "400 BadDeviceToken", as: .assumed,
      by: "found nowhere", with: .key),
    GatewayFact("no-topic", "a push without a topic", "400 MissingTopic", as: .documented, by: responses, with: .key),
    GatewayFact(
      "type", "an unknown push type", "400 InvalidPushType", as: .documented, by: responses, with: .key),
    GatewayFact("priority", "priority 7", "400 BadPriority", as: .documented, by: responses, with: .key),
    GatewayFact(
      "expiration", "an expiration that is no number", "400 BadExpirationDate", as: .documented, by: responses,
      with: .key),
    GatewayFact(
      "collapse", "a collapse id of 65 bytes", "400 BadCollapseId", as: .documented, by: responses, with: .key),
    GatewayFact("id", "an apns-id that is no UUID", "400 BadMessageId", as: .documented, by: responses, with: .key),
    GatewayFact(
      "duplicate", "a topic that is sent twice", "400 DuplicateHeaders", as: .documented, by: responses, with: .key),
    GatewayFact(
      "long-token", "a device token of 256 digits", "400 BadDeviceToken", as: .assumed,
      by: requests + " (make no assumption about the length)", with: .key),
    GatewayFact(
      "accepted", "a push in the background to the device", "200", as: .documented, by: responses, with: .token),
    GatewayFact(
      "accepted-body", "body of an acceptance", "empty", as: .recorded, by: "transcripts, 2019 to 2022", with: .token),
    GatewayFact(
      "accepted-streams", "streams after an acceptance", "1000", as: .recorded, by: "pushy#356, #476", with: .token),
    GatewayFact(
      "upper-device", "the device token in upper case", "200", as: .recorded, by: "transcript of 2021", with: .token),
    GatewayFact(
      "second-token", "a second new provider token on the connection", "429 TooManyProviderTokenUpdates",
      as: .documented, by: tokens, with: .renewal),
    GatewayFact(
      "unusable", "the first one on it afterwards", "429 TooManyProviderTokenUpdates", as: .recorded,
      by: "Apple's forum, thread 675879", with: .renewal),
    GatewayFact(
      "idle", "a connection after 30 minutes without a push", "usable", as: .assumed, by: "found nowhere",
      with: .idleness),
  ]

  package enum Verdict: String, Sendable {
    case expected, differs
  }

  package func verdict(on seen: String) -> Verdict { expected.contains(seen) ? .expected : .differs }
}
