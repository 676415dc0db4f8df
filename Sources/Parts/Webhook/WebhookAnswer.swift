import HTTPClient
import JSON

/// What a request to the webhook brought.
struct WebhookAnswer: Equatable {
  /// A longer wait is not accepted.
  static let maximumWait = Duration.seconds(3600)
  private static let maximumTextLength = 200

  enum Kind: Equatable {
    case accepted
    case refused
    /// 410: the receiver does not want events any more.
    case gone
  }

  let kind: Kind
  /// `HTTP 503`, or why there is no answer.
  let text: String
  /// The wait that the receiver asks for.
  let wait: Duration

  init(_ answer: HTTPAnswer) {
    switch answer.status {
    case 200..<300: kind = .accepted
    case 410: kind = .gone
    default: kind = .refused
    }
    let isRedirect = (300..<400).contains(answer.status)
    text = "HTTP \(answer.status)" + (isRedirect ? " (redirects are not followed)" : "")
    let seconds: Int64 = answer["retry-after"]?.integer(in: 0...Int64(Int32.max)) ?? 0
    wait = min(.seconds(seconds), WebhookAnswer.maximumWait)
  }

  init(_ error: HTTPClientError) {
    kind = .refused
    text = String("\(error)".prefix(WebhookAnswer.maximumTextLength))
    wait = .zero
  }
}
