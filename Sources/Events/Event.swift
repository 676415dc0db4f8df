public import JSON

/// Something that other programs may want to know, as it is written to ``EventStream``.
public struct Event: Sendable, Equatable {
  public let type: EventType
  /// Unix milliseconds.
  public let at: Int64
  /// The members of the object `data`.
  public let data: [JSONMember]

  public init(_ type: EventType, at: Int64, data: [JSONMember]) {
    self.type = type
    self.at = at
    self.data = data
  }

  /// `{"type":"token.removed","at":1764000000000,"data":{…}}`
  public var json: [UInt8] {
    var writer = JSONWriter(capacity: 256)
    writer.beginObject()
    writer.key("type")
    writer.string(type.rawValue)
    writer.key("at")
    writer.integer(at)
    writer.key("data")
    writer.value(.object(data))
    writer.endObject()
    return writer.bytes
  }
}

extension [JSONMember] {
  /// Adds a member unless the value is nil or empty.
  mutating func add(_ key: String, _ value: String?) {
    guard let value, !value.isEmpty else { return }
    append(JSONMember(key: key, value: .string(value)))
  }

  mutating func add(_ key: String, _ value: Int64?) {
    guard let value else { return }
    append(JSONMember(key: key, value: .integer(value)))
  }
}
