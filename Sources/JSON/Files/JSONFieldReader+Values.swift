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
