package import Dashboard
import EventLoop
import HTTPClient
import JSON
package import Operations
package import Program
package import Redis
package import Sidecar
package import Worker

/// The webhook for events, with `MARTLET_WEBHOOK_URL` and `MARTLET_WEBHOOK_SECRET`: docs/events.md.
package enum WebhookPart: Part {
  package static let settings = [url, secret]

  private static let url = Setting(
    "MARTLET_WEBHOOK_URL", in: .all, as: .url,
    title: "`MARTLET_WEBHOOK_URL`, `MARTLET_WEBHOOK_SECRET`",
    """
    the URL (`https://…` or `http://…`) to which a worker of the fleet POSTs the [events](events.md#webhook), \
    and the secret that signs them: `whsec_` and base64, or at least 16 other characters. Several secrets are \
    separated by spaces; each signs. A URL also turns `MARTLET_EVENTS=stream` on.
    """,
    example: "https://example.com/hooks/push",
    "Where events are sent, too.")
  private static let secret = Setting(
    "MARTLET_WEBHOOK_SECRET", in: .all, as: .secret,
    example: "replace-this-by-your-secret",
    "The secret that signs them: whsec_ and base64.")

  package static func add(to worker: inout WorkerConfiguration, _ reader: inout EnvironmentReader) {
    let (isSet, webhook) = read(&reader)
    if isSet { worker.writesEvents = true }
    worker.companions.append { context in
      let metrics = WebhookMetrics(context.metrics)
      return webhook.map {
        WebhookSender($0, connection: context.connection, metrics: metrics, log: context.log)
      }
    }
  }

  package static func add(to sidecar: inout SidecarConfiguration, _ reader: inout EnvironmentReader) {
    if read(&reader).isSet { sidecar.writesEvents = true }
  }

  package static func add(to dashboard: inout DashboardConfiguration, _ reader: inout EnvironmentReader) {
    if read(&reader).isSet { dashboard.writesEvents = true }
  }

  @EventLoop
  package static func status(_ connection: RedisClient) async throws(RedisError) -> PartStatus? {
    let state = try await WebhookState.read(from: connection)
    return PartStatus(
      name: "webhook", object: state?.object, text: state?.text(at: Clock.unixMilliseconds) ?? "",
      checked: state?.checked, finding: state?.finding(at: Clock.unixMilliseconds))
  }

  /// Whether a webhook is set, and where events are sent; nil with a fault.
  private static func read(_ reader: inout EnvironmentReader) -> (isSet: Bool, webhook: WebhookConfiguration?) {
    let secret = reader.value(Self.secret, expected: WebhookSecret.expected) { WebhookSecret($0) }
    guard let url = reader.text(Self.url) else { return (false, nil) }
    if reader.text(Self.secret) == nil {
      reader.report(Self.secret.name, seen: "it is not set, and \(Self.url.name) is", expected: WebhookSecret.expected)
    }
    do throws(HTTPClientError) {
      try HTTPCall.check(url: url)
    } catch {
      reader.report(Self.url.name, wrong: url, expected: "https://host/path or http://host/path")
      return (true, nil)
    }
    return (true, secret.flatMap { WebhookConfiguration(url: url, secret: $0) })
  }
}
