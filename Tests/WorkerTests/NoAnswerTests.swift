import APNs
import Testing

@testable import Worker

struct NoAnswerTests {
  private static let table: [(sent: SendOutcome, reason: String?)] = [
    (.answered(APNsAnswer(status: 200)), nil), (.answered(APNsAnswer(status: 503, reason: "HTTP_503")), nil),
    (.notProcessed("Timeout"), "TIMEOUT"), (.uncertain("Timeout"), "TIMEOUT"),
    (.notProcessed("NoConnection: refused"), "SESSION_ERROR:NoConnection: refused"),
    (.notProcessed("NoConnection"), "SESSION_ERROR:NoConnection"),
    (.notProcessed("ShuttingDown"), "SESSION_ERROR:ShuttingDown"),
    (.notProcessed("RefusedStream"), "REQUEST_ERROR:RefusedStream"),
    (.uncertain("StreamReset_2"), "REQUEST_ERROR:StreamReset_2"), (.uncertain("NoAnswer"), "REQUEST_ERROR:NoAnswer"),
    (.notProcessed("RoutePaused: TopicDisallowed"), "REQUEST_ERROR:RoutePaused: TopicDisallowed"),
    (.notProcessed("RoutePaused: InvalidProviderToken"), "JWT_ERROR:RoutePaused: InvalidProviderToken"),
  ]

  @Test(arguments: table)
  func `the reason for no answer is the one documented`(sent: SendOutcome, reason: String?) {
    #expect(NoAnswer.reason(sent) == reason)
  }
}
