import Dashboard
import EventLoop
import HTTPServer
import JSON
import Program
import Redis
import Sidecar
import Testing
import Worker

@testable import Webhook

struct WebhookSettingsTests {
  private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

  private func faults(_ values: [String: String]) -> [String] {
    var reader = EnvironmentReader(values)
    var worker = WorkerConfiguration(redis: .unset)
    WebhookPart.add(to: &worker, &reader)
    return reader.faults.map(\.description)
  }

  @Test func `a webhook needs the stream, whichever service writes events`() throws {
    var reader = EnvironmentReader([
      "MARTLET_WEBHOOK_URL": "https://hook:password@example.com/push?key=1", "MARTLET_WEBHOOK_SECRET": Self.secret,
    ])
    var worker = WorkerConfiguration(redis: .unset)
    var sidecar = SidecarConfiguration(listener: .init(address: .loopback(port: 0)))
    var dashboard = DashboardConfiguration(listener: .init(address: .loopback(port: 0)), queues: [])
    WebhookPart.add(to: &worker, &reader)
    WebhookPart.add(to: &sidecar, &reader)
    WebhookPart.add(to: &dashboard, &reader)
    #expect(worker.writesEvents && sidecar.writesEvents && dashboard.writesEvents)
    #expect(reader.faults == [])
    let secret = try #require(WebhookSecret(Self.secret))
    let configuration = WebhookConfiguration(url: "https://hook:password@example.com/push?key=1", secret: secret)
    #expect(configuration?.origin == "https://example.com:443")
  }

  @Test func `without a webhook no events are written for it`() {
    var reader = EnvironmentReader([:])
    var worker = WorkerConfiguration(redis: .unset)
    WebhookPart.add(to: &worker, &reader)
    #expect(!worker.writesEvents)
  }

  @Test(arguments: [
    (["MARTLET_WEBHOOK_URL": "https://example.com/"], "MARTLET_WEBHOOK_SECRET: it is not set"),
    (["MARTLET_WEBHOOK_URL": "example.com", "MARTLET_WEBHOOK_SECRET": secret], "MARTLET_WEBHOOK_URL"),
    (["MARTLET_WEBHOOK_URL": "ftp://example.com/", "MARTLET_WEBHOOK_SECRET": secret], "MARTLET_WEBHOOK_URL"),
    (["MARTLET_WEBHOOK_SECRET": "short"], "MARTLET_WEBHOOK_SECRET: '…' (5 bytes, not shown)"),
  ])
  func `an invalid setting is named`(values: [String: String], beginning: String) {
    let found = faults(values)
    #expect(found.count == 1)
    #expect(found.first?.hasPrefix(beginning) == true, "\(found)")
  }
}
