import HTTPClient
import JSON
package import Worker

/// `MARTLET_EVENTS`, `MARTLET_WEBHOOK_URL` and `MARTLET_WEBHOOK_SECRET`.
package struct EventSettings {
  private enum Destination: String, CaseIterable { case stream, off }

  private static let urlName = "MARTLET_WEBHOOK_URL"
  private static let secretName = "MARTLET_WEBHOOK_SECRET"

  /// Whether events are written. A webhook needs them.
  package let areWritten: Bool
  /// Nil without a webhook, and if a setting of it is invalid.
  package let webhook: WebhookConfiguration?

  package static func read(_ reader: inout EnvironmentReader) -> EventSettings {
    let destination = reader.choice("MARTLET_EVENTS", default: Destination.off)
    let secret = reader.value(secretName, as: .secret, expected: WebhookSecret.expected) { WebhookSecret($0) }
    guard let url = reader.url(urlName) else {
      return EventSettings(areWritten: destination == .stream, webhook: nil)
    }
    return EventSettings(areWritten: true, webhook: webhook(url, secret, &reader))
  }

  private static func webhook(
    _ url: String, _ secret: WebhookSecret?, _ reader: inout EnvironmentReader
  ) -> WebhookConfiguration? {
    if reader.string(secretName) == nil {
      reader.report(secretName, seen: "it is not set, and \(urlName) is", expected: WebhookSecret.expected)
    }
    do throws(HTTPClientError) {
      try HTTPCall.check(url: url)
    } catch {
      reader.report(urlName, wrong: url, expected: "https://host/path or http://host/path")
      return nil
    }
    return secret.flatMap { WebhookConfiguration(url: url, secret: $0) }
  }
}
