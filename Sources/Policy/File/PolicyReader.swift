import PushModel
import Jobs
import JSON

/// Takes a policy file apart and gathers every fault of it.
struct PolicyReader {
  /// Of a value that a fault quotes.
  private static let maximumQuoted = 60

  private(set) var faults: [PolicyFault] = []

  mutating func report(_ path: String, seen: String, expected: String) {
    faults.append(PolicyFault(path: path, seen: seen, expected: expected))
  }

  mutating func report(_ path: String, _ value: JSONValue, expected: String) {
    let text = String(decoding: value.bytes, as: UTF8.self)
    let isLong = text.count > PolicyReader.maximumQuoted
    report(path, seen: isLong ? "\(text.prefix(PolicyReader.maximumQuoted))…" : text, expected: expected)
  }

  /// An object with no other keys than these; nil when it is none.
  mutating func object(_ value: JSONValue, _ path: String, keys: [String]) -> PolicyObject? {
    guard let members = value.members else {
      report(path, value, expected: "an object")
      return nil
    }
    for member in members where !keys.contains(member.key) {
      let what = Spelling.unknownField(member.key, parent: "", names: keys)
      report(path, seen: what, expected: "only \(keys.joined(separator: ", "))")
    }
    return PolicyObject(value: value, path: path)
  }

  /// The elements with their paths; empty when it is absent, or no list of so many.
  mutating func list(
    _ object: PolicyObject, _ key: String, count: ClosedRange<Int>
  ) -> [(value: JSONValue, path: String)] {
    guard let value = object[key] else { return [] }
    guard let elements = value.array, count.contains(elements.count) else {
      let seen = value.array.map { "\($0.count) elements" }
      let expected = "a list of \(count.lowerBound) to \(count.upperBound)"
      if let seen {
        report(object.path(key), seen: seen, expected: expected)
      } else {
        report(object.path(key), value, expected: expected)
      }
      return []
    }
    return elements.enumerated().map { ($1, "\(object.path(key))[\($0)]") }
  }

  mutating func integer(_ object: PolicyObject, _ key: String, in range: ClosedRange<Int64>) -> Int64? {
    guard let value = object[key] else { return nil }
    guard let number = value.integer, range.contains(number) else {
      report(
        object.path(key), value, expected: "a whole number from \(range.lowerBound) to \(range.upperBound)")
      return nil
    }
    return number
  }

  mutating func boolean(_ object: PolicyObject, _ key: String) -> Bool? {
    guard let value = object[key] else { return nil }
    if value.bool == nil { report(object.path(key), value, expected: "true or false") }
    return value.bool
  }

  mutating func choice<Choice: CaseIterable & RawRepresentable<String>>(
    _ object: PolicyObject, _ key: String, of type: Choice.Type
  ) -> Choice? {
    guard let value = object[key] else { return nil }
    let choice = value.string.flatMap(Choice.init)
    if choice == nil {
      let known = type.allCases.map(\.rawValue).joined(separator: ", ")
      report(object.path(key), value, expected: "one of \(known)")
    }
    return choice
  }

  /// A text of so many Unicode scalars, without control characters.
  mutating func text(_ object: PolicyObject, _ key: String, length: ClosedRange<Int>) -> String? {
    guard let value = object[key] else { return nil }
    guard let text = value.string, length.contains(text.unicodeScalars.count),
      !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
    else {
      let expected = "\(length.lowerBound) to \(length.upperBound) characters without line ends"
      report(object.path(key), value, expected: expected)
      return nil
    }
    return text
  }

  /// A name of ``Charset/className``.
  mutating func name(_ object: PolicyObject, _ key: String) -> String? {
    guard let value = object[key] else { return nil }
    guard let name = value.string, Charset.className.accepts(name) else {
      report(object.path(key), value, expected: Charset.className.description)
      return nil
    }
    return name
  }

  /// Says that a key has to be there.
  mutating func require(_ object: PolicyObject, _ keys: String...) {
    for key in keys where object[key] == nil {
      report(object.path(key), seen: "missing", expected: "a value")
    }
  }
}
