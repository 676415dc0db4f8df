import JSON

/// What an attempt leaves for the next one; stands in the envelope, as JSON.
public struct AttemptState: Sendable, Equatable {
  /// Only these tokens are still to be tried; nil: all that the audience has.
  public var open: [String]?
  /// Of a job at most once: written to APNs and never answered, so not tried again unless an operator says so.
  public var uncertain: [String] = []
  /// Owners of open devices that were reached on another one.
  public var reached: [String] = []
  /// What the earlier attempts came to.
  public var result: JobResult?
  /// `sendAt` has come, by Redis' clock.
  public var isReleased = false
  /// Unix ms; fixed at the first claim.
  public var expiresAt: Int64?
  /// How far a broadcast has come.
  public var cursor: String?
  /// `<worker> <claimedAt>` of the attempt that wrote the job's present record.
  public var recordAuthor: String?

  public init() {}

  /// Bytes that are none are an empty state: the job then starts over.
  public init(json bytes: [UInt8]) {
    guard !bytes.isEmpty, let value = try? JSONValue(parsing: bytes) else { return }
    open = value["open"]?.array.map { $0.compactMap(\.string) }
    uncertain = (value["uncertain"]?.array ?? []).compactMap(\.string)
    reached = (value["reached"]?.array ?? []).compactMap(\.string)
    result = value["result"].flatMap { JobResult(parsing: $0.bytes) }
    isReleased = value["released"]?.bool ?? false
    expiresAt = value["expiresAt"]?.integer
    cursor = value["cursor"]?.string
    recordAuthor = value["recordAuthor"]?.string
  }

  /// What may have arrived is to be tried again.
  public mutating func reopenUncertain() {
    guard !uncertain.isEmpty else { return }
    open = (open ?? []) + uncertain
    uncertain = []
  }

  public func json() -> [UInt8] {
    if self == AttemptState() { return [] }
    var writer = JSONWriter()
    writer.beginObject()
    if let open { writer.member("open", open) }
    if !uncertain.isEmpty { writer.member("uncertain", uncertain) }
    if !reached.isEmpty { writer.member("reached", reached) }
    if let result {
      writer.key("result")
      writer.raw(result.json())
    }
    if isReleased {
      writer.key("released")
      writer.bool(true)
    }
    if let expiresAt {
      writer.key("expiresAt")
      writer.integer(expiresAt)
    }
    if let cursor {
      writer.key("cursor")
      writer.string(cursor)
    }
    if let recordAuthor {
      writer.key("recordAuthor")
      writer.string(recordAuthor)
    }
    writer.endObject()
    return writer.bytes
  }
}

extension JSONWriter {
  fileprivate mutating func member(_ key: StaticString, _ strings: [String]) {
    self.key(key)
    beginArray()
    for string in strings { self.string(string) }
    endArray()
  }
}
