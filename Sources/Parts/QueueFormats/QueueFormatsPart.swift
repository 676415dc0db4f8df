import EventLoop
package import Jobs
package import Program
package import Worker

/// The formats in which Sidekiq and Celery write elements, with the setting `MARTLET_QUEUE_FORMATS`: docs/producers.md.
package enum QueueFormatsPart: Part {
  package static let settings = [byQueue]

  private static let byQueue = Setting(
    "MARTLET_QUEUE_FORMATS", in: .worker, as: .list,
    """
    `queue=sidekiq` or `queue=celery`, separated by commas: producers of this queue, which is also in \
    `MARTLET_QUEUES`, write [elements of Sidekiq or messages of Celery](producers.md#sidekiq-and-celery). One \
    value for all workers of the queue. Without it every element is a job.
    """,
    example: "",
    "Lists whose elements are those of Sidekiq or Celery: queue:push=sidekiq,push=celery")
  package static let formats: [QueueFormat] = [.sidekiq, .celery]

  package static func prepare() { QueueFormat.add(formats) }

  package static func add(to worker: inout WorkerConfiguration, _ reader: inout EnvironmentReader) {
    for entry in reader.list(byQueue) {
      // A name may contain the sign.
      let sign = entry.lastIndex(of: "=") ?? entry.startIndex
      let queue = String(entry[..<sign])
      guard worker.queues.contains(queue), worker.formats[queue] == nil,
        let format = formats.first(where: { $0.name == entry[sign...].dropFirst().lowercased() })
      else {
        let known = formats.map(\.name).joined(separator: " or ")
        reader.report(byQueue.name, wrong: entry, expected: "queue=\(known), each queue once and one of MARTLET_QUEUES")
        continue
      }
      worker.formats[queue] = format
    }
  }
}

extension QueueFormat {
  /// Elements of Sidekiq's client.
  static let sidekiq = QueueFormat("sidekiq") { bytes throws(JobError) in try SidekiqElement(bytes) }
  /// Messages of Celery, task protocol 2.
  static let celery = QueueFormat("celery") { bytes throws(JobError) in try CeleryMessage(bytes) }
}
