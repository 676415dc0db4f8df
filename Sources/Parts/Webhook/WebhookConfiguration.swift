import HTTPClient

/// Where events are sent, and how the requests are signed.

struct WebhookConfiguration: Sendable, Equatable {
  let url: String
  /// Without user, password, path and query, for logs.
  let origin: String
  let secret: WebhookSecret

  /// Returns nil if `url` is not a URL of http or https.
  init?(url: String, secret: WebhookSecret) {
    do { try HTTPCall.check(url: url) } catch { return nil }
    guard let address = WebAddress(url) else { return nil }
    self.url = url
    origin = address.origin
    self.secret = secret
  }
}
