import JSON
import Jobs
import PushModel

/// Reads the values of a policy file and collects every fault.
struct PolicyReader {
  /// The maximum number of scalars that a fault quotes. A character may be as long as the file.
  private static let maximumQuoted = 60

  private(set) var faults: [PolicyFault] = []

  mutating func report(_ path: String, seen: String, expected: String) {
    faults.append(PolicyFault(path: path, seen: seen, expected: expected))
  }

  mutating func report(_ path: String, _ value: JSONValue, expected: String) {
    let text = String(decoding: value.bytes, as: UTF8.self)
    let isLong = text.unicodeScalars.count > PolicyReader.maximumQuoted
    let seen = isLong ? String(text.unicodeScalars.prefix(PolicyReader.maximumQuoted)) + "…" : text
    report(path, seen: seen, expected: expected)
  }

  /// Returns an object and reports keys that are not among `keys`. Nil if the value is not an object.
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

  /// Returns the elements with their paths. Empty if the list is absent or its length is not in `count`.
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
    guard let number = value.integer(in: range) else {
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

  /// Returns a text without control characters whose number of Unicode scalars is in `length`.
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

  /// Returns a name of ``Charset/className``.
  mutating func name(_ object: PolicyObject, _ key: String) -> String? {
    guard let value = object[key] else { return nil }
    guard let name = value.string, Charset.className.accepts(name) else {
      report(object.path(key), value, expected: Charset.className.description)
      return nil
    }
    return name
  }

  /// Reports keys that are missing.
  mutating func require(_ object: PolicyObject, _ keys: String...) {
    for key in keys where object[key] == nil {
      report(object.path(key), seen: "missing", expected: "a value")
    }
  }
}

/// An object of the file and its path.
struct PolicyObject {
  let value: JSONValue
  let path: String

  subscript(key: String) -> JSONValue? { value[key] }

  func path(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }
}

/// An invalid value in a policy file.
public struct PolicyFault: Sendable, Equatable {
  /// `policies[0].limits[1].seconds`; empty for the file itself.
  public let path: String
  public let seen: String
  public let expected: String
}
