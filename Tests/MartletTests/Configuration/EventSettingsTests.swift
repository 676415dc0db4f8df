import Program
import JSON
import Testing

@testable import Martlet
@testable import Worker

struct EventSettingsTests {
  private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

  private func read(_ values: [String: String]) throws -> WorkerConfiguration {
    try WorkerSettings(environment: values.merging(["REDIS_URL": "redis://127.0.0.1"]) { $1 }).worker
  }

  private func faults(_ values: [String: String]) -> [String] {
    do {
      _ = try read(values)
      return []
    } catch let error as ConfigurationFaults {
      return error.faults.map(\.description)
    } catch {
      return ["\(error)"]
    }
  }

  @Test func `nothing is written by default`() throws {
    #expect(try !read([:]).writesEvents)
    #expect(try !read(["MARTLET_EVENTS": "off"]).writesEvents)
  }

  @Test func `a webhook needs the stream`() throws {
    let configuration = try read([
      "MARTLET_WEBHOOK_URL": "https://hook:password@example.com/push?key=1", "MARTLET_WEBHOOK_SECRET": Self.secret,
    ])
    #expect(configuration.writesEvents)
    #expect(configuration.webhook?.origin == "https://example.com:443")
    let sidecar = try SidecarSettings(environment: [
      "MARTLET_WEBHOOK_URL": "https://example.com/", "MARTLET_WEBHOOK_SECRET": Self.secret,
    ])
    #expect(sidecar.service.events.areWritten)
  }

  @Test(arguments: [
    (["MARTLET_EVENTS": "webhook"], "MARTLET_EVENTS"),
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
