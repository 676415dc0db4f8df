package import Credentials
import Crypto
package import HTTPServer
package import JSON
package import Queue

/// Reads settings from the environment and collects every fault, so that all are reported at once.
///
/// The kind of a setting decides how much of its value a fault shows, once it has been read as it is declared.
package struct EnvironmentReader {
  /// Four times the size of a system's bundle of all authorities.
  private static let maximumPEMBytes = 1024 * 1024
  /// The characters of host names and of IP addresses with a scope.
  private static let hostCharacters = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-:%".utf8)
  package let values: [String: String]
  package private(set) var faults: [InvalidValue] = []
  /// The kinds of the settings that were read as they are declared, by all of their names.
  private var kinds: [String: Setting.Kind] = [:]

  /// Reports the variables that begin with `MARTLET_` and are no settings.
  package init(_ environment: ProcessEnvironment) {
    self.init(environment.values)
    faults = SettingNames.faults(in: environment)
  }

  /// Reads settings again, whose names have been checked.
  package init(_ values: [String: String]) {
    self.values = values
  }

  /// Reports a fault. A quotation of the whole value in `seen` is replaced with ``quoted(_:_:)``.
  package mutating func report(_ name: String, seen: String, expected: String) {
    let value = string(name) ?? ""
    faults.append(
      .init(place: name, seen: seen.replacing("'\(value)'", with: quoted(name, value)), expected: expected))
  }

  /// Reports a fault that quotes the value, or the invalid part of it.
  package mutating func report(_ name: String, wrong value: some StringProtocol, expected: String) {
    report(name, seen: quoted(name, String(value)), expected: expected)
  }

  /// Returns what a fault may show of a value of this setting.
  private func quoted(_ name: String, _ value: String) -> String {
    ValueQuote.text(value, as: kinds[name]?.quote ?? .plain)
  }

  /// The value without white space around it. Nil if it is absent or blank.
  package func string(_ name: String) -> String? {
    values[name].flatMap { EnvironmentReader.trimmed($0) }
  }

  /// A value of any kind.
  package mutating func text(_ setting: Setting) -> String? { named(setting)?.value }

  /// The value, and which of the names of the setting has it.
  package mutating func named(_ setting: Setting) -> (name: String, value: String)? {
    let names = [setting.name] + setting.aliases
    for name in names { kinds[name] = setting.kind }
    for name in names {
      if let value = string(name) { return (name, value) }
    }
    return nil
  }

  /// The values of a list, without white space around them. Empty values are left out.
  package mutating func list(_ setting: Setting) -> [String] {
    guard case .list = setting.kind else { preconditionFailure("\(setting.name) is no list") }
    return (text(setting) ?? "").split(separator: ",").compactMap { EnvironmentReader.trimmed($0) }
  }

  /// Returns `value` without white space around it, or nil if it is blank.
  package static func trimmed(_ value: some StringProtocol) -> String? {
    let trimmed = value.drop(while: \.isWhitespace)
    guard let last = trimmed.lastIndex(where: { !$0.isWhitespace }) else { return nil }
    return String(trimmed[...last])
  }

  /// Returns what `parse` makes of a setting; nil if it is absent. A value for which `parse` returns nil is reported.
  package mutating func value<Value>(_ setting: Setting, expected: String, _ parse: (String) -> Value?) -> Value? {
    guard let (name, text) = named(setting) else { return nil }
    let value = parse(text)
    if value == nil { report(name, wrong: text, expected: expected) }
    return value
  }

  /// Reads a setting as it is declared: a whole number.
  package mutating func integer(_ setting: Setting) -> Int {
    guard case .whole(let range) = setting.kind, let fallback = setting.standard?.integer(in: range) else {
      preconditionFailure("\(setting.name) is no whole number")
    }
    let expected = "a whole number from \(range.lowerBound) to \(range.upperBound)"
    return value(setting, expected: expected) { $0.integer(in: range) } ?? fallback
  }

  /// An address that a server can listen on. The host is required. Nil for `off`.
  package mutating func addressOrOff(_ setting: Setting, default fallback: HTTPAddress) -> HTTPAddress? {
    text(setting)?.lowercased() == "off" ? nil : address(setting, default: fallback, or: "; or off")
  }

  /// An address that a server can listen on. The host is required. `other` is a further alternative for the error.
  package mutating func address(
    _ setting: Setting, default fallback: HTTPAddress, or other: String = ""
  ) -> HTTPAddress {
    guard case .address = setting.kind, setting.standard.map({ $0 == "\(fallback)" }) ?? true else {
      preconditionFailure("\(setting.name) is no address, or has another default")
    }
    let expected = "host:port, [IPv6 address]:port, or unix:/path; port 0 for any free one (logged)\(other)"
    return value(setting, expected: expected, EnvironmentReader.address) ?? fallback
  }

  private static func address(_ value: String) -> HTTPAddress? {
    guard let address = try? HTTPAddress(parsing: value) else { return nil }
    guard case .tcp(let host, _) = address else { return address }
    let isNumber = value.reversed().prefix { $0 != ":" }.allSatisfy { $0.isASCII && $0.isNumber }
    return isNumber && !host.isEmpty && host.utf8.allSatisfy(hostCharacters.contains) ? address : nil
  }

  package mutating func boolean(_ setting: Setting) -> Bool {
    guard case .flag = setting.kind else { preconditionFailure("\(setting.name) is no flag") }
    let (yes, no) = (["true", "1", "yes", "on"], ["false", "0", "no", "off"])
    let flag = value(setting, expected: "true or false") { text -> Bool? in
      yes.contains(text.lowercased()) ? true : no.contains(text.lowercased()) ? false : nil
    }
    return flag ?? false
  }

  /// A positive number with a unit: `500ms`, `25s`, `15m`, `24h`, `30d`.
  package mutating func duration(_ setting: Setting) -> Duration {
    guard case .duration = setting.kind, let fallback = setting.standard.flatMap({ EnvironmentReader.duration($0) })
    else { preconditionFailure("\(setting.name) is no duration") }
    let expected = "a positive number with a unit: 500ms, 25s, 15m, 24h, 30d"
    return value(setting, expected: expected) { EnvironmentReader.duration($0) } ?? fallback
  }

  private static func duration(_ text: some StringProtocol) -> Duration? {
    let units: [(String, Int64)] = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)]
    for (unit, milliseconds) in units where text.hasSuffix(unit) {
      guard let number = text.dropLast(unit.count).integer(in: 1...366 * 86_400_000 / milliseconds) else { continue }
      return .milliseconds(number * milliseconds)
    }
    return nil
  }

  /// A share of the memory of Redis, `25%`; bytes with a unit, `256mb`; or `off` for no limit.
  package mutating func memory(_ setting: Setting) -> RecordMemory {
    guard case .memory = setting.kind, let fallback = setting.standard.flatMap({ EnvironmentReader.memory($0) }) else {
      preconditionFailure("\(setting.name) is no amount of memory")
    }
    let expected = "a percentage from 1% to 90%, a size with a unit such as 256mb or 2gb, or off"
    return value(setting, expected: expected) { EnvironmentReader.memory($0.lowercased()) } ?? fallback
  }

  private static func memory(_ text: String) -> RecordMemory? {
    let units: [(String, Int64)] = [("kb", 1 << 10), ("mb", 1 << 20), ("gb", 1 << 30)]
    if text == "off" { return .unlimited }
    if text.hasSuffix("%") { return text.dropLast().integer(in: 1...90).map { .share(Double($0) / 100) } }
    guard let (unit, size) = units.first(where: { text.hasSuffix($0.0) }) else { return nil }
    return text.dropLast(unit.count).integer(in: 1...(1 << 50) / size).map { .bytes($0 * size) }
  }

  /// A number of requests in a window: `120/1m`. Nil for `off`.
  package mutating func limit(_ setting: Setting) -> WindowLimit? {
    guard case .limit = setting.kind, let fallback = setting.standard.flatMap({ EnvironmentReader.limit($0) }) else {
      preconditionFailure("\(setting.name) is no limit")
    }
    let counts = EnvironmentReader.counts
    let expected = "a number from 1 to \(counts.upperBound), a slash and a window: 120/1m, 20/30s; or off"
    if string(setting.name)?.lowercased() == "off" { return nil }
    return value(setting, expected: expected) { EnvironmentReader.limit($0) } ?? fallback
  }

  private static let counts = 1...1_000_000

  private static func limit(_ text: String) -> WindowLimit? {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let count = parts[0].integer(in: counts),
      let window = trimmed(parts[1]).flatMap({ duration($0) })
    else { return nil }
    return WindowLimit(count, per: window)
  }

  package mutating func choice<Value: RawRepresentable & CaseIterable>(_ setting: Setting) -> Value
  where Value.RawValue == String {
    guard case .choice = setting.kind, let fallback = setting.standard.flatMap(Value.init(rawValue:)) else {
      preconditionFailure("\(setting.name) is no choice")
    }
    let known = Value.allCases.map(\.rawValue).joined(separator: ", ")
    return value(setting, expected: "one of \(known)") { Value(rawValue: $0.lowercased()) } ?? fallback
  }

  /// PEM text (with real line ends, or with `\n` or `\r\n` in their place), its base64, or the contents of the PEM file at the path.
  package mutating func pem(_ setting: Setting) -> String? {
    guard let (name, value) = named(setting) else { return nil }
    let encoded = Base64.decode(value.utf8.filter { !" \n\r\t".utf8.contains($0) })
    let text = encoded.flatMap { String(validating: $0, as: UTF8.self) } ?? value
    guard text.contains("-----BEGIN") else { return file(name, path: value) }
    return text.replacing("\\r\\n", with: "\n").replacing("\\n", with: "\n")
  }

  /// The contents of a PEM file.
  package mutating func file(_ name: String, path: String) -> String? {
    let expected = "PEM text, or the path of a readable PEM file"
    let bytes = contents(name, path: path, maximumBytes: EnvironmentReader.maximumPEMBytes, expected: expected)
    guard let text = bytes.map({ String(decoding: $0, as: UTF8.self) }) else { return nil }
    guard text.contains("-----BEGIN") else {
      report(
        name, seen: "the file \(quoted(name, path)) does not contain PEM",
        expected: "a file that begins with -----BEGIN")
      return nil
    }
    return text
  }

  /// The contents of a regular file.
  package mutating func contents(_ name: String, path: String, maximumBytes: Int, expected: String) -> [UInt8]? {
    do throws(InvalidValue) {
      let file = "the file \(quoted(name, path))"
      return try SettingFile.read(path, file, maximumBytes: maximumBytes, expected: expected)
    } catch {
      report(name, seen: error.seen, expected: error.expected)
      return nil
    }
  }

  /// Reports the faults of the file at the path that a setting has.
  package mutating func report(_ name: String, _ path: String, _ faults: [InvalidValue]) {
    for fault in faults {
      let place = fault.place.isEmpty ? "" : " \(fault.place)"
      report(name, seen: "\(quoted(name, path))\(place): \(fault.seen)", expected: fault.expected)
    }
  }
}
