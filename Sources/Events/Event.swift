public import JSON

/// Something that other programs may want to know, as it is written to ``EventStream``.
public struct Event: Sendable, Equatable {
  public let type: EventType
  /// Unix milliseconds.
  public let at: Int64
  public let data: JSONObject

  public init(_ type: EventType, at: Int64, data: JSONObject) {
    self.type = type
    self.at = at
    self.data = data
  }

  /// `{"type":"token.removed","at":1764000000000,"data":{…}}`
  public var json: [UInt8] { (["type": type.rawValue, "at": at, "data": data] as JSONObject).bytes }
}

extension String {
  /// Nil if the text is empty, so that a member with it is left out.
  package var unlessEmpty: String? { isEmpty ? nil : self }
}
