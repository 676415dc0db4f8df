import Jobs
import JSON

/// What a policy remembers of an instance: stands in Redis as one small JSON string.
public struct PolicyState: Sendable, Equatable {
  /// A job that was let through.
  public struct Grant: Sendable, Equatable {
    /// The nonce of its envelope: the same when it is retried, or run again after a crash.
    public var job: String
    public var className: String
    /// Unix ms; of the latest attempt.
    public var at: Int64
  }

  /// The job that waits for the end of quiet hours.
  public struct Held: Sendable, Equatable {
    public var job: String
    /// Unix ms; later than that it holds nobody back.
    public var until: Int64
  }

  /// Oldest first; those that some rule still asks for.
  public var grants: [Grant] = []
  public var held: Held?

  public init() {}

  /// Bytes that are no state are an empty one.
  public init(json bytes: [UInt8]) {
    guard !bytes.isEmpty, let value = try? JSONValue(parsing: bytes) else { return }
    grants = (value["grants"]?.array ?? []).compactMap { grant in
      guard let job = grant["job"]?.string, let name = grant["class"]?.string, let at = grant["at"]?.integer else {
        return nil
      }
      return Grant(job: job, className: name, at: at)
    }
    if let job = value["held"]?["job"]?.string, let until = value["held"]?["until"]?.integer {
      held = Held(job: job, until: until)
    }
  }

  public func json() -> [UInt8] {
    var writer = JSONWriter(capacity: 64 + grants.count * 96)
    writer.beginObject()
    writer.key("grants")
    writer.beginArray()
    for grant in grants {
      writer.beginObject()
      writer.member("job", grant.job)
      writer.member("class", grant.className)
      writer.member("at", grant.at)
      writer.endObject()
    }
    writer.endArray()
    if let held {
      writer.key("held")
      writer.beginObject()
      writer.member("job", held.job)
      writer.member("until", held.until)
      writer.endObject()
    }
    writer.endObject()
    return writer.bytes
  }
}
