import JSON
import Program
import Testing
import Worker

@testable import Martlet

struct EventSettingsTests {
  private func writesEvents(_ values: [String: String]) throws -> Bool {
    try WorkerSettings(environment: values.merging(["REDIS_URL": "redis://127.0.0.1"]) { $1 }).worker.writesEvents
  }

  @Test func `nothing is written by default`() throws {
    #expect(try !writesEvents([:]))
    #expect(try !writesEvents(["MARTLET_EVENTS": "off"]))
    #expect(try writesEvents(["MARTLET_EVENTS": "stream"]))
  }

  @Test func `an invalid setting is named`() {
    let error = #expect(throws: ConfigurationFaults.self) { try writesEvents(["MARTLET_EVENTS": "webhook"]) }
    #expect(error?.faults.map(\.place) == ["MARTLET_EVENTS"])
  }
}
