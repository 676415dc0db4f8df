import JSON

/// What an attempt leaves for the next one: the state in the envelope, as JSON.
public struct AttemptState: Sendable, Equatable {
  /// The tokens that the next attempt sends to; nil for all devices of the addressee.
  public var open: [String]?
  /// Tokens of an at-most-once job whose push was written to APNs and never answered. Only an operator sends to them again.
  public var uncertain: [String] = []
  /// Owners of open devices who were reached on another device.
  public var reached: [String] = []
  /// The result of the earlier attempts.
  public var result: JobResult?
  /// Whether the job has been scheduled and its time has come, by Redis' clock.
  public var isReleased = false
  /// Unix milliseconds, fixed at the first claim.
  public var expiresAt: Int64?
  /// The position up to which a broadcast was sent.
  public var cursor: String?
  /// The ``JobResult/author`` of the job's present record.
  public var recordAuthor: String?
  /// What happened to the job so far. ``result`` has none.
  public var history = JobHistory()

  public init() {}

  /// Bytes that cannot be read give an empty state: the job then starts over.
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
    history = JobHistory(value["history"])
  }

  /// Lets the next attempt send to the uncertain tokens too.
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
    if !history.isEmpty {
      writer.key("history")
      history.write(to: &writer)
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
