import Testing

@testable import APNs

struct VerdictTests {
  static let table: [(Int, String, Verdict)] = [
    (400, "BadCollapseId", .badJob), (400, "BadExpirationDate", .badJob), (400, "BadMessageId", .badJob),
    (400, "BadPriority", .badJob), (400, "BadTopic", .badJob), (400, "DuplicateHeaders", .badJob),
    (400, "InvalidPushType", .badJob), (400, "MissingDeviceToken", .badJob), (400, "MissingTopic", .badJob),
    (400, "PayloadEmpty", .badJob), (413, "PayloadTooLarge", .badJob),
    (400, "BadDeviceToken", .staleToken(unregisteredSince: nil)),
    (400, "DeviceTokenNotForTopic", .staleToken(unregisteredSince: nil)),
    (410, "Unregistered", .staleToken(unregisteredSince: 1_700_000_000_000)),
    (410, "ExpiredToken", .staleToken(unregisteredSince: 1_700_000_000_000)),
    (400, "TopicDisallowed", .parkRoute), (403, "BadCertificate", .parkRoute),
    (403, "BadCertificateEnvironment", .parkRoute), (403, "Forbidden", .parkRoute),
    (403, "BadEnvironmentKeyIdInToken", .parkRoute), (403, "BadEnvironmentKeyInToken", .parkRoute),
    (400, "IdleTimeout", .newConnection), (503, "Shutdown", .newConnection),
    (403, "UnrelatedKeyIdInToken", .newConnection),
    (403, "ExpiredProviderToken", .expiredProviderToken), (403, "InvalidProviderToken", .invalidProviderToken),
    (403, "MissingProviderToken", .invalidProviderToken),
    (429, "TooManyProviderTokenUpdates", .tooManyProviderTokens),
    (429, "TooManyRequests", .deviceThrottled(after: 7)),
    (404, "BadPath", .ourBug), (405, "MethodNotAllowed", .ourBug),
    (500, "InternalServerError", .retryLater(after: 7)), (503, "ServiceUnavailable", .retryLater(after: 7)),
  ]

  @Test(arguments: table) func `each documented reason has its verdict`(status: Int, reason: String, verdict: Verdict) {
    let answer = APNsAnswer(status: status, reason: reason, timestamp: 1_700_000_000_000, retryAfterSeconds: 7)
    #expect(Verdict(answer) == verdict)
  }

  @Test(arguments: [
    (403, Verdict.parkRoute), (404, .ourBug), (410, .staleToken(unregisteredSince: 5)), (418, .badJob),
    (429, .deviceThrottled(after: nil)), (500, .retryLater(after: nil)), (599, .retryLater(after: nil)),
    (302, .retryLater(after: nil)),
  ])
  func `an unknown reason is judged by its status`(status: Int, verdict: Verdict) {
    #expect(Verdict(APNsAnswer(status: status, reason: "NeverHeardOf", timestamp: 5)) == verdict)
  }

  @Test func `200 is accepted and proves the provider token`() {
    #expect(Verdict(APNsAnswer(status: 200)) == .accepted)
    #expect(Verdict.accepted.provesProviderToken)
    #expect(Verdict.badJob.provesProviderToken)
    #expect(!Verdict.expiredProviderToken.provesProviderToken)
    #expect(!Verdict.invalidProviderToken.provesProviderToken)
  }
}
