/// How the producers of a queue write its elements, if not as jobs alone.
public enum QueueFormat: String, Sendable, CaseIterable {
  /// Elements of Sidekiq's client.
  case sidekiq
  /// Messages of Celery, task protocol 2.
  case celery

  /// Reads an element. Returns nil if it is a job alone.
  func element(_ bytes: [UInt8]) throws(JobError) -> (any FormattedElement)? {
    switch self {
    case .sidekiq: try SidekiqElement(bytes)
    case .celery: try CeleryMessage(bytes)
    }
  }
}

/// An element of another library, with a job in it.
protocol FormattedElement {
  /// The library's id of it.
  var id: String? { get }
  /// Whether it is of this format beyond doubt, in a queue whose format is not known.
  var isRecognized: Bool { get }

  /// Throws if the part that holds the job is missing or of another shape. The job itself is not checked.
  func wrappedJob() throws(JobError) -> WrappedJob
}
