import APNs
import JSON
import PushModel

/// Reads the values of the file of the apps and collects every fault.
struct AppsReader {
  /// Further faults are counted.
  static let maximumFaults = 100
  /// Names that other servers have for a push certificate, in lower case.
  private static let certificateNames: Set = [
    "cert", "certpath", "certfile", "certificate", "certificatepath", "certificatefile", "pem", "pempath", "pfx",
    "pfxpath", "p12", "p12path", "pkcs12", "passphrase",
  ]

  var files: AppsKeyFiles
  var register = AppsRegister()
  let defaultEnvironment: PushEnvironment
  private var found: [AppsFault] = []
  private var count = 0

  init(files: AppsKeyFiles, defaultEnvironment: PushEnvironment) {
    self.files = files
    self.defaultEnvironment = defaultEnvironment
  }

  /// Every fault; with many, the last one has the number of those left out.
  var faults: [AppsFault] {
    guard count > found.count else { return found }
    let rest = "\(count - found.count) more faults"
    return found + [AppsFault(place: "", seen: rest, expected: "the file without the faults above first")]
  }

  /// The number of faults so far.
  var faultCount: Int { count }

  mutating func report(_ place: String, seen: String, expected: String) {
    report(AppsFault(place: place, seen: seen, expected: expected))
  }

  mutating func report(_ fault: AppsFault) {
    count += 1
    if found.count < AppsReader.maximumFaults { found.append(fault) }
  }

  /// Reports a value of the wrong kind or out of its range. It is shown as `kind` allows.
  mutating func report(_ place: String, _ value: JSONValue, as kind: SettingQuote.Kind = .plain, expected: String) {
    let seen =
      switch value {
      case .string(let text): SettingQuote.text(text, as: kind)
      case .integer(let number): "\(number)"
      case .number(let number): "\(number)"
      case .bool(let flag): "\(flag)"
      case .null: "null"
      case .array(let elements): "a list of \(elements.count)"
      case .object: "an object"
      }
    report(place, seen: seen, expected: expected)
  }

  /// Returns an object and reports members that are not among `members`. Nil if the value is not an object.
  mutating func object(_ value: JSONValue, _ place: String, members names: [String]) -> AppsObject? {
    guard let members = value.members else {
      report(place, value, expected: "an object")
      return nil
    }
    for member in members where !names.contains(member.key) {
      if AppsReader.certificateNames.contains(member.key.lowercased()) {
        report(
          AppsObject.place(place, member.key), seen: AppsKeyFiles.certificatesUnsupported,
          expected: AppsKeyFiles.keyInstead)
      } else {
        report(
          place, seen: "unknown member \(SettingQuote.text(member.key))",
          expected: "only \(names.joined(separator: ", "))")
      }
    }
    return AppsObject(value: value, place: place)
  }

  /// Returns the elements with their places. Empty if the list is absent or its length is not in `count`.
  mutating func list(
    _ object: AppsObject, _ name: String, count: ClosedRange<Int>
  ) -> [(value: JSONValue, place: String)] {
    guard let value = object[name] else { return [] }
    guard let elements = value.array, count.contains(elements.count) else {
      report(object.place(name), value, expected: "a list of \(count.lowerBound) to \(count.upperBound)")
      return []
    }
    return elements.enumerated().map { ($1, "\(object.place(name))[\($0)]") }
  }

  mutating func integer(
    _ object: AppsObject, _ name: String, in range: ClosedRange<Int>, default fallback: Int
  ) -> Int {
    guard let value = object[name] else { return fallback }
    guard let number = value.count, range.contains(number) else {
      report(object.place(name), value, expected: "a whole number from \(range.lowerBound) to \(range.upperBound)")
      return fallback
    }
    return number
  }

  /// Returns a text that satisfies `isValid`. Nil if it is absent.
  mutating func text(
    _ object: AppsObject, _ name: String, as kind: SettingQuote.Kind = .plain, expected: String,
    where isValid: (String) -> Bool
  ) -> String? {
    object[name].flatMap { text($0, object.place(name), as: kind, expected: expected, where: isValid) }
  }

  mutating func text(
    _ value: JSONValue, _ place: String, as kind: SettingQuote.Kind = .plain, expected: String,
    where isValid: (String) -> Bool
  ) -> String? {
    guard let text = value.string, isValid(text) else {
      report(place, value, as: kind, expected: expected)
      return nil
    }
    return text
  }

  /// Returns whether the members are there, and reports those that are missing.
  mutating func require(_ object: AppsObject, _ names: String...) -> Bool {
    var isComplete = true
    for name in names where object[name] == nil {
      isComplete = false
      report(object.place(name), seen: "missing", expected: "a value")
    }
    return isComplete
  }
}

/// An object of the file and its place.
struct AppsObject {
  let value: JSONValue
  let place: String

  subscript(name: String) -> JSONValue? { value[name] }

  func place(_ name: String) -> String { AppsObject.place(place, name) }

  static func place(_ object: String, _ name: String) -> String {
    // A name that is not one of the file's own may be anything.
    let shown = name.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? String(name.prefix(40)) : "…"
    return object.isEmpty ? shown : "\(object).\(shown)"
  }
}
