/// Something that has a form in JSON.
public protocol JSONWritable: Sendable {
  func write(to writer: inout JSONWriter)
}

/// The members of an object, in their order, for JSON that is written rarely. A member whose value is nil is left out.
public struct JSONObject: JSONWritable, ExpressibleByDictionaryLiteral, Equatable {
  private var members: [(key: String, value: any JSONWritable)]

  public init(dictionaryLiteral members: (String, (any JSONWritable)?)...) {
    self.members = []
    self.members.reserveCapacity(members.count)
    for case (let key, let value?) in members { self.members.append((key, value)) }
  }

  public init(_ counts: [(String, Int)]) {
    members = counts.map { ($0, $1) }
  }

  /// The values by their names, in the order of the names.
  public init(_ values: [String: some JSONWritable]) {
    members = values.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  public static func + (left: JSONObject, right: JSONObject) -> JSONObject {
    var sum = left
    sum.members += right.members
    return sum
  }

  /// Whether the texts are the same.
  public static func == (left: JSONObject, right: JSONObject) -> Bool { left.bytes == right.bytes }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    for (key, value) in members {
      writer.key(escaping: key)
      value.write(to: &writer)
    }
    writer.endObject()
  }

  /// The text, without white space.
  public var bytes: [UInt8] {
    var writer = JSONWriter()
    write(to: &writer)
    return writer.bytes
  }

  /// The text and a line end.
  public var line: String { String(decoding: bytes, as: UTF8.self) + "\n" }
}

/// A value that is JSON already. It is not checked.
public struct JSONText: JSONWritable {
  let bytes: [UInt8]

  public init(_ bytes: [UInt8]) { self.bytes = bytes }

  public func write(to writer: inout JSONWriter) { writer.raw(bytes) }
}

extension String: JSONWritable {
  public func write(to writer: inout JSONWriter) { writer.string(self) }
}

extension Int: JSONWritable {
  public func write(to writer: inout JSONWriter) { writer.integer(self) }
}

extension Int64: JSONWritable {
  public func write(to writer: inout JSONWriter) { writer.integer(self) }
}

extension UInt64: JSONWritable {
  public func write(to writer: inout JSONWriter) { writer.integer(self) }
}

extension Double: JSONWritable {
  public func write(to writer: inout JSONWriter) { writer.number(self) }
}

extension Bool: JSONWritable {
  public func write(to writer: inout JSONWriter) { writer.bool(self) }
}

extension Array: JSONWritable where Element: JSONWritable {
  public func write(to writer: inout JSONWriter) {
    writer.beginArray()
    for element in self { element.write(to: &writer) }
    writer.endArray()
  }
}

extension JSONValue: JSONWritable {
  public func write(to writer: inout JSONWriter) {
    switch self {
    case .null: writer.null()
    case .bool(let value): writer.bool(value)
    case .integer(let value): writer.integer(value)
    case .number(let value): writer.number(value)
    case .string(let value): writer.string(value)
    case .array(let elements): elements.write(to: &writer)
    case .object(let members):
      writer.beginObject()
      for member in members {
        writer.key(escaping: member.key)
        member.value.write(to: &writer)
      }
      writer.endObject()
    }
  }
}
