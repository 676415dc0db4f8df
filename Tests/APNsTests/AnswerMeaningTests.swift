import Testing

@testable import APNs

struct AnswerMeaningTests {
  static let table: [(Int, String, AnswerMeaning)] = [
    (400, "BadCollapseId", .badJob), (400, "BadExpirationDate", .badJob), (400, "BadMessageId", .badJob),
    (400, "BadPriority", .badJob), (400, "BadTopic", .badJob), (400, "DuplicateHeaders", .badJob),
    (400, "InvalidPushType", .badJob), (400, "MissingDeviceToken", .badJob), (400, "MissingTopic", .badJob),
    (400, "PayloadEmpty", .badJob), (413, "PayloadTooLarge", .badJob),
    (400, "BadDeviceToken", .staleToken(unregisteredSince: nil)),
    (400, "DeviceTokenNotForTopic", .staleToken(unregisteredSince: nil)),
    (410, "Unregistered", .staleToken(unregisteredSince: 1_700_000_000_000)),
    (410, "ExpiredToken", .staleToken(unregisteredSince: 1_700_000_000_000)),
    (400, "TopicDisallowed", .topicRefused), (403, "BadCertificate", .providerRefused),
    (403, "BadCertificateEnvironment", .providerRefused), (403, "Forbidden", .forbidden),
    (403, "BadEnvironmentKeyIdInToken", .providerRefused), (403, "BadEnvironmentKeyInToken", .providerRefused),
    (400, "IdleTimeout", .newConnection), (503, "Shutdown", .newConnection),
    (403, "UnrelatedKeyIdInToken", .providerRefused),
    (403, "ExpiredProviderToken", .providerRefused), (403, "InvalidProviderToken", .providerRefused),
    (403, "MissingProviderToken", .providerRefused),
    (429, "TooManyProviderTokenUpdates", .tooManyProviderTokens),
    (429, "TooManyRequests", .deviceThrottled(after: 7)),
    (404, "BadPath", .ourBug), (405, "MethodNotAllowed", .ourBug),
    (500, "InternalServerError", .retryLater(after: 7)), (503, "ServiceUnavailable", .retryLater(after: 7)),
  ]

  @Test(arguments: table) func `each documented reason has its meaning`(
    status: Int, reason: String, meaning: AnswerMeaning
  ) {
    let answer = APNsAnswer(status: status, reason: reason, timestamp: 1_700_000_000_000, retryAfterSeconds: 7)
    #expect(answer.meaning == meaning)
  }

  @Test(arguments: [
    (403, AnswerMeaning.providerRefused), (404, .ourBug), (410, .failed), (418, .badJob),
    (429, .deviceThrottled(after: nil)), (500, .retryLater(after: nil)), (599, .retryLater(after: nil)),
    (302, .retryLater(after: nil)),
  ])
  func `an unknown reason is classified by its status`(status: Int, meaning: AnswerMeaning) {
    #expect(APNsAnswer(status: status, reason: "NeverHeardOf", timestamp: 5).meaning == meaning)
  }

  @Test(arguments: [
    (410, "X", AnswerMeaning.failed), (410, "BadDeviceToken", .failed), (410, "HTTP_410", .failed),
    (400, "Unregistered", .failed),
    (400, "ExpiredToken", .failed), (404, "BadDeviceToken", .ourBug), (413, "Unregistered", .failed),
    (500, "Unregistered", .retryLater(after: nil)), (503, "BadDeviceToken", .retryLater(after: nil)),
    (403, "Unregistered", .providerRefused), (200, "Unregistered", .accepted),
    (429, "Unregistered", .deviceThrottled(after: nil)),
    (500, "TopicDisallowed", .retryLater(after: nil)), (500, "InvalidProviderToken", .retryLater(after: nil)),
    (410, "PayloadTooLarge", .failed),
  ])
  func `a documented reason with another status is classified by the status and removes no token`(
    status: Int, reason: String, meaning: AnswerMeaning
  ) {
    #expect(APNsAnswer(status: status, reason: reason, timestamp: 5).meaning == meaning)
  }

  @Test func `200 is accepted and proves the provider token`() {
    #expect(APNsAnswer(status: 200).meaning == .accepted)
    #expect(AnswerMeaning.accepted.provesProviderToken)
    #expect(AnswerMeaning.badJob.provesProviderToken)
    #expect(!AnswerMeaning.providerRefused.provesProviderToken)
  }
}
