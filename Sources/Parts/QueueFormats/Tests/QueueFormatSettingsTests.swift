import Jobs
import JSON
import Program
import Redis
import Testing
import Worker

@testable import QueueFormats

struct QueueFormatSettingsTests {
  private func formats(_ value: String) throws -> [String: QueueFormat] {
    var reader = EnvironmentReader(["MARTLET_QUEUE_FORMATS": value])
    var worker = WorkerConfiguration(redis: .unset)
    worker.queues = ["a", "queue:push", "b=c"]
    QueueFormatsPart.add(to: &worker, &reader)
    guard reader.faults.isEmpty else { throw ConfigurationFaults(reader.faults) }
    return worker.formats
  }

  @Test func `a queue with a format is one of the queues, named once`() throws {
    #expect(try formats("queue:push=sidekiq, b=c=Celery") == ["queue:push": .sidekiq, "b=c": .celery])
    #expect(try formats(" ").isEmpty)
    for wrong in ["push=sidekiq", "a", "a=", "a=resque", "=celery", "a=celery,a=celery"] {
      let error = #expect(throws: ConfigurationFaults.self) { try formats(wrong) }
      #expect(error?.faults.map(\.place) == ["MARTLET_QUEUE_FORMATS"], "\(wrong)")
    }
  }
}
