import JSON

/// The fields of one JSON command. Each field is read once; a field that was not read is an error.
struct Command {
  private var members: [String: JSONValue] = [:]

  init(parsing body: [UInt8]) throws(ControlError) {
    self = try Command(Command.value(body))
  }

  /// Reads one command, or an array of commands, all of which `read` must be able to read.
  static func list<Value>(
    _ body: [UInt8], _ read: (inout Command) throws(ControlError) -> Value
  ) throws(ControlError) -> [Value] {
    let value = try value(body)
    return try (value.array ?? [value]).map { element throws(ControlError) in
      var command = try Command(element)
      return try read(&command)
    }
  }

  private static func value(_ body: [UInt8]) throws(ControlError) -> JSONValue {
    do {
      return try JSONValue(parsing: body)
    } catch {
      throw ControlError("the body is not JSON: \(error)")
    }
  }

  private init(_ value: JSONValue) throws(ControlError) {
    guard let members = value.members else { throw ControlError("expected a JSON object") }
    for member in members { self.members[member.key] = member.value }
  }

  mutating func string(_ name: String) throws(ControlError) -> String? {
    guard let value = members.removeValue(forKey: name) else { return nil }
    guard let string = value.string else { throw ControlError("\"\(name)\" must be a string") }
    return string
  }

  mutating func bool(_ name: String) throws(ControlError) -> Bool? {
    guard let value = members.removeValue(forKey: name) else { return nil }
    guard let bool = value.bool else { throw ControlError("\"\(name)\" must be true or false") }
    return bool
  }

  mutating func integer(
    _ name: String, in range: ClosedRange<Int64> = 0...1_000_000_000
  ) throws(ControlError) -> Int64? {
    guard let value = members.removeValue(forKey: name) else { return nil }
    guard let integer = value.integer(in: range) else {
      throw ControlError("\"\(name)\" must be an integer from \(range.lowerBound) to \(range.upperBound)")
    }
    return integer
  }

  /// A case of `Value` by its raw value.
  mutating func choice<Value: RawRepresentable & CaseIterable>(
    _ name: String, of type: Value.Type
  ) throws(ControlError) -> Value? where Value.RawValue == String {
    guard let text = try string(name) else { return nil }
    guard let value = Value(rawValue: text) else {
      let names = Value.allCases.map(\.rawValue).joined(separator: ", ")
      throw ControlError("\"\(name)\": \"\(text)\" is not one of \(names)")
    }
    return value
  }

  mutating func strings(_ name: String) throws(ControlError) -> [String]? {
    guard let value = members.removeValue(forKey: name) else { return nil }
    guard let array = value.array, array.allSatisfy({ $0.string != nil }) else {
      throw ControlError("\"\(name)\" must be an array of strings")
    }
    return array.compactMap(\.string)
  }

  /// An object whose values are strings.
  mutating func texts(_ name: String) throws(ControlError) -> [String: String]? {
    guard let value = members.removeValue(forKey: name) else { return nil }
    guard let members = value.members, members.allSatisfy({ $0.value.string != nil }) else {
      throw ControlError("\"\(name)\" must be an object of strings")
    }
    return Dictionary(members.map { ($0.key, $0.value.string ?? "") }) { _, last in last }
  }

  /// `status`, `reason` and `retryAfter` (seconds).
  mutating func answer() throws(ControlError) -> Answer {
    guard let status = try integer("status", in: 200...599).map(Int.init) else {
      throw ControlError("a \"status\" is missing")
    }
    let reason = try string("reason")
    // One reason of broadcasts has a space.
    let isReason = reason?.utf8.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20) || $0 == 0x20 }
    guard isReason != false else { throw ControlError("\"reason\" must contain only letters") }
    let retryAfter = try integer("retryAfter", in: 0...86_400).map(Int.init)
    return Answer(status, reason ?? Answer.usualReason(status), retryAfter: retryAfter)
  }

  /// Throws if a field was not read.
  func end() throws(ControlError) {
    guard let name = members.keys.min() else { return }
    throw ControlError("unknown field \"\(name)\"")
  }
}

/// An invalid command. The text names the problem and what is expected.
struct ControlError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
