import Synchronization

/// How the producers of a queue write its elements, if not as jobs alone.
public struct QueueFormat: Sendable, Equatable {
  /// As settings name it.
  public let name: String
  let element: @Sendable ([UInt8]) throws(JobError) -> (any FormattedElement)?

  /// - Parameter element: reads an element; nil if it is a job alone.
  package init(_ name: String, _ element: @escaping @Sendable ([UInt8]) throws(JobError) -> (any FormattedElement)?) {
    self.name = name
    self.element = element
  }

  public static func == (left: QueueFormat, right: QueueFormat) -> Bool { left.name == right.name }

  private static let known = Mutex<[QueueFormat]>([])

  /// The formats that an element may have, for those who look at it and do not know that of its queue.
  static var all: [QueueFormat] { known.withLock { $0 } }

  /// Adds formats to those that an element may have. A process does this when it starts.
  package static func add(_ formats: [QueueFormat]) {
    known.withLock { known in known += formats.filter { !known.contains($0) } }
  }
}

/// An element of another library, with a job in it.
package protocol FormattedElement {
  /// The library's id of it.
  var id: String? { get }
  /// Whether it is of this format beyond doubt, in a queue whose format is not known.
  var isRecognized: Bool { get }

  /// Throws if the part that holds the job is missing or of another shape. The job itself is not checked.
  func wrappedJob() throws(JobError) -> WrappedJob
}
