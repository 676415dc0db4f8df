/// An object of a file and its place there.
package struct JSONFields {
  let value: JSONValue
  package let place: String

  package subscript(name: String) -> JSONValue? { value[name] }

  package func place(_ name: String) -> String { JSONFields.place(place, name) }

  package static func place(_ object: String, _ name: String) -> String {
    // A name that is not one of the file's own may be anything.
    let shown = name.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? String(name.prefix(40)) : "…"
    return object.isEmpty ? shown : "\(object).\(shown)"
  }
}

/// Reads the values of a JSON file that a person writes, and collects every fault.
package struct JSONFieldReader {
  package typealias Element = (value: JSONValue, place: String)

  /// Further faults are counted.
  private static let maximumFaults = 100

  private let advice: (String) -> (seen: String, expected: String)?
  private var found: [InvalidValue] = []
  package private(set) var faultCount = 0

  /// `advice` returns what to say of an unknown field that deserves a word of its own.
  package init(advice: @escaping (String) -> (seen: String, expected: String)? = { _ in nil }) {
    self.advice = advice
  }

  /// Every fault; with many, the last one has the number of those left out.
  package var faults: [InvalidValue] {
    guard faultCount > found.count else { return found }
    let rest = "\(faultCount - found.count) more faults"
    return found + [InvalidValue(seen: rest, expected: "the file without the faults above first")]
  }

  package mutating func report(_ fault: InvalidValue) {
    faultCount += 1
    if found.count < JSONFieldReader.maximumFaults { found.append(fault) }
  }

  package mutating func report(_ place: String, seen: String, expected: String) {
    report(InvalidValue(place: place, seen: seen, expected: expected))
  }

  /// Reports a value of the wrong kind or out of its range. It is shown as `kind` allows.
  package mutating func report(
    _ place: String, _ value: JSONValue, as kind: ValueQuote.Kind = .plain, expected: String
  ) {
    let seen =
      switch value {
      case .string(let text): ValueQuote.text(text, as: kind)
      case .integer(let number): "\(number)"
      case .number(let number): "\(number)"
      case .bool(let flag): "\(flag)"
      case .null: "null"
      case .array(let elements): "a list of \(elements.count)"
      case .object: "an object"
      }
    report(place, seen: seen, expected: expected)
  }

  /// Returns the elements of a file that is an object with one list: `{"apps":[…]}`.
  package mutating func elements(of name: String, in bytes: [UInt8], count: ClosedRange<Int>) -> [Element] {
    guard let file = object(parsing: bytes, names: [name], expected: "{\"\(name)\":[…]}"), require(file, name) else {
      return []
    }
    return list(file, name, count: count)
  }

  /// Parses an object and reports fields that are not among `names`. Nil if the text is not an object.
  package mutating func object(parsing bytes: [UInt8], names: [String], expected: String) -> JSONFields? {
    do {
      return object(try JSONValue(parsing: bytes), "", names: names)
    } catch {
      report("", seen: "not JSON: \(error)", expected: expected)
      return nil
    }
  }

  /// Returns an object and reports fields that are not among `names`. Nil if the value is not an object.
  package mutating func object(_ value: JSONValue, _ place: String, names: [String]) -> JSONFields? {
    guard let members = value.members else {
      report(place, value, expected: "an object")
      return nil
    }
    for member in members where !names.contains(member.key) {
      if let advice = advice(member.key) {
        report(JSONFields.place(place, member.key), seen: advice.seen, expected: advice.expected)
      } else {
        let seen = "unknown field \(ValueQuote.text(member.key))\(Spelling.hint(for: member.key, among: names))"
        report(place, seen: seen, expected: "only \(names.joined(separator: ", "))")
      }
    }
    return JSONFields(value: value, place: place)
  }

  /// Returns whether the fields are there, and reports those that are missing.
  @discardableResult
  package mutating func require(_ object: JSONFields, _ names: String...) -> Bool {
    let missing = names.filter { object[$0] == nil }
    for name in missing { report(object.place(name), seen: "missing", expected: "a value") }
    return missing.isEmpty
  }
}

/// Values of a field. Each is nil if the field is absent, or is not valid and so was reported.
extension JSONFieldReader {
  /// Returns the elements with their places. Empty if the list is absent or its length is not in `count`.
  package mutating func list(_ object: JSONFields, _ name: String, count: ClosedRange<Int>) -> [Element] {
    guard let value = object[name] else { return [] }
    guard let elements = value.array, count.contains(elements.count) else {
      report(object.place(name), value, expected: "a list of \(count.lowerBound) to \(count.upperBound)")
      return []
    }
    return elements.enumerated().map { ($1, "\(object.place(name))[\($0)]") }
  }

  package mutating func integer<Number: FixedWidthInteger>(
    _ object: JSONFields, _ name: String, in range: ClosedRange<Number>
  ) -> Number? {
    guard let value = object[name] else { return nil }
    guard let number = value.integer(in: Int64(range.lowerBound)...Int64(range.upperBound)) else {
      report(object.place(name), value, expected: "a whole number from \(range.lowerBound) to \(range.upperBound)")
      return nil
    }
    return Number(number)
  }

  package mutating func boolean(_ object: JSONFields, _ name: String) -> Bool? {
    guard let value = object[name] else { return nil }
    if value.bool == nil { report(object.place(name), value, expected: "true or false") }
    return value.bool
  }

  package mutating func choice<Choice: CaseIterable & RawRepresentable<String>>(
    _ object: JSONFields, _ name: String, of type: Choice.Type
  ) -> Choice? {
    let known = type.allCases.map(\.rawValue).joined(separator: ", ")
    return text(object, name, expected: "one of \(known)") { Choice(rawValue: $0) != nil }.flatMap(Choice.init)
  }

  /// Returns a text that satisfies `isValid`. It is shown as `kind` allows.
  package mutating func text(
    _ object: JSONFields, _ name: String, as kind: ValueQuote.Kind = .plain, expected: String,
    where isValid: (String) -> Bool
  ) -> String? {
    object[name].flatMap { text(($0, object.place(name)), as: kind, expected: expected, where: isValid) }
  }

  package mutating func text(
    _ element: Element, as kind: ValueQuote.Kind = .plain, expected: String, where isValid: (String) -> Bool
  ) -> String? {
    guard let text = element.value.string, isValid(text) else {
      report(element.place, element.value, as: kind, expected: expected)
      return nil
    }
    return text
  }
}
