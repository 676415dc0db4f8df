import JSON
import PushModel

/// What a list of jobs shows of each one: whom it is for, and nothing of its content.
///
/// For an invalid job, or the beginning of a job, it has what could be read before the fault.
public struct JobSummary: Sendable, Equatable {
  /// The job's own; nil if it has none that is valid.
  public private(set) var id: String?
  public private(set) var addressee: Addressee?
  /// The bundle id that the job names: `app`, or that of its audience.
  public private(set) var app: String?

  public init(job bytes: [UInt8]) {
    let wrapped = WrappedJob(foundIn: bytes)
    var reader = JSONReader(wrapped?.json ?? bytes)
    do {
      try read(from: &reader)
    } catch {
      // The fields before the fault are kept.
    }
    id = id ?? wrapped?.id
  }

  private mutating func read(from reader: inout JSONReader) throws {
    try reader.beginObject()
    while let key = try reader.nextKey() {
      switch key {
      case "id":
        let value = try reader.readString()
        id = Charset.id.accepts(value) ? value : nil
      case "to":
        let text = try reader.skipValue()
        addressee = JobSummary.addressee(Array(reader.bytes[text]))
        if case .app(let audience)? = addressee { app = app ?? audience }
      case "app": app = try reader.readString()
      default: try reader.skipValue()
      }
    }
  }

  /// Returns nil if `json` is not a valid addressee.
  private static func addressee(_ json: [UInt8]) -> Addressee? {
    var reader = JobReader(json)
    return try? Addressee(from: &reader)
  }
}
