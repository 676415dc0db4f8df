import JSON

/// What an attempt leaves for the next one; stands in the envelope, as JSON.
public struct AttemptState: Sendable, Equatable {
  /// Only these tokens are still to be tried; nil: all that the audience has.
  public var open: [String]?
  /// Written to APNs and never answered: not tried again unless an operator says so.
  public var uncertain: [String] = []
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
    result = value["result"].flatMap { JobResult(parsing: $0.bytes) }
    isReleased = value["released"]?.bool ?? false
    expiresAt = value["expiresAt"]?.integer
    cursor = value["cursor"]?.string
    recordAuthor = value["recordAuthor"]?.string
  }

  public func json() -> [UInt8] {
    if self == AttemptState() { return [] }
    var writer = JSONWriter()
    writer.beginObject()
    if let open { writer.member("open", open) }
    if !uncertain.isEmpty { writer.member("uncertain", uncertain) }
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
