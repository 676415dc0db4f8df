/// A complete JSON value in memory, for uses where speed does not matter.
public enum JSONValue: Sendable, Equatable {
  case null
  case bool(Bool)
  /// A number without fraction and exponent that fits Int64.
  case integer(Int64)
  /// Any other number; finite.
  case number(Double)
  case string(String)
  case array([JSONValue])
  /// In the order of the text, without duplicate keys.
  case object([JSONMember])

  /// Parses a complete text. Throws for a duplicate key.
  public init(parsing bytes: [UInt8]) throws(JSONError) {
    var reader = JSONReader(bytes)
    self = try JSONValue(from: &reader)
    try reader.end()
  }

  /// Reads the next value.
  public init(from reader: inout JSONReader) throws(JSONError) {
    switch try reader.peek() {
    case .null:
      try reader.readNull()
      self = .null
    case .bool: self = .bool(try reader.readBool())
    case .number, .integer: self = try reader.readNumber()
    case .string: self = .string(try reader.readString())
    case .array:
      var elements: [JSONValue] = []
      try reader.beginArray()
      while try reader.nextElement() { elements.append(try JSONValue(from: &reader)) }
      self = .array(elements)
    case .object:
      var members: [JSONMember] = []
      var keys = JSONSeenKeys()
      try reader.beginObject()
      while let key = try reader.nextKey() {
        let offset = reader.start
        guard keys.insert(key) else { throw .duplicateKey(key, offset: offset) }
        members.append(JSONMember(key: key, value: try JSONValue(from: &reader)))
      }
      self = .object(members)
    }
  }

  /// The text, without white space.
  public var bytes: [UInt8] {
    var writer = JSONWriter()
    write(to: &writer)
    return writer.bytes
  }
}

/// A key of an object and its value.
public struct JSONMember: Sendable, Equatable {
  public let key: String
  public let value: JSONValue

  public init(key: String, value: JSONValue) {
    self.key = key
    self.value = value
  }
}

extension JSONValue {
  /// The value of a key; nil if the key is absent or this is not an object.
  public subscript(key: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.key.utf8.count == key.utf8.count && $0.key.utf8.elementsEqual(key.utf8) }?.value
  }

  public var string: String? {
    guard case .string(let string) = self else { return nil }
    return string
  }

  public var bool: Bool? {
    guard case .bool(let bool) = self else { return nil }
    return bool
  }

  public var array: [JSONValue]? {
    guard case .array(let array) = self else { return nil }
    return array
  }

  public var members: [JSONMember]? {
    guard case .object(let members) = self else { return nil }
    return members
  }
}

/// The keys of one object, to detect duplicates: two keys are the same if their bytes are. Uses a set if there are many, so that
/// a hostile object costs no more.
public struct JSONSeenKeys: Sendable {
  private static let scanLimit = 8

  private var few: [String] = []
  private var many: Set<[UInt8]> = []

  public init() {
    few.reserveCapacity(JSONSeenKeys.scanLimit + 1)
  }

  /// Adds a key. Returns false if it is a duplicate.
  public mutating func insert(_ key: String) -> Bool {
    if !many.isEmpty { return many.insert(Array(key.utf8)).inserted }
    guard !few.contains(where: { $0.utf8.elementsEqual(key.utf8) }) else { return false }
    few.append(key)
    if few.count > JSONSeenKeys.scanLimit { many = Set(few.map { Array($0.utf8) }) }
    return true
  }
}
