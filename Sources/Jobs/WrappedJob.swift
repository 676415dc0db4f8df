import JSON

/// A job inside an element, and what the element says for a job that does not say it itself.
package struct WrappedJob {
  package let json: [UInt8]
  package var id: String?
  /// Unix milliseconds.
  package var sendAt: Int64?
  /// Unix seconds.
  package var expiration: Int64?

  package init(json: [UInt8], id: String?, sendAt: Int64? = nil, expiration: Int64? = nil) {
    self.json = json
    self.id = id
    self.sendAt = sendAt
    self.expiration = expiration
  }
}

extension WrappedJob {
  /// Reads an element of a queue whose format is not known. Returns nil if it is a job alone, or cannot be read.
  package init?(foundIn bytes: [UInt8]) {
    guard let element = WrappedJob.element(in: bytes), let job = try? element.wrappedJob() else { return nil }
    self = job
  }

  /// The id in an element whose job may be invalid.
  package static func id(in bytes: [UInt8], ofJob own: ([UInt8]) -> String?) -> String? {
    guard let element = element(in: bytes) else { return nil }
    return (try? element.wrappedJob()).flatMap { own($0.json) } ?? element.id
  }

  private static func element(in bytes: [UInt8]) -> (any FormattedElement)? {
    for format in QueueFormat.all {
      if let element = try? format.element(bytes), element.isRecognized { return element }
    }
    return nil
  }

  /// The only element of an array, which is a job. Returns nil if the array is empty.
  ///
  /// - Parameter shape: what was expected, for errors.
  package static func onlyElement(of array: [UInt8], _ shape: String) throws(JobError) -> [UInt8]? {
    var reader = JobReader(array)
    try reader.beginArray()
    guard try reader.nextElement() else { return nil }
    guard try reader.kind() == .object else { throw JobError(reason: shape) }
    let job = try reader.text()
    guard try !reader.nextElement() else { throw JobError(reason: shape) }
    return job
  }
}
