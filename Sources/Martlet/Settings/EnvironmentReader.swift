import HTTPServer

#if canImport(Glibc)
  import Glibc
#endif

/// Reads settings from the environment and gathers every fault, so that all are reported at once.
///
/// How a setting is read says how much of its value a fault may show: ``secret(_:)``, ``url(_:)`` and ``pem(_:)`` show less
/// than ``string(_:)``.
package struct EnvironmentReader {
  /// One wrong setting: what was seen (never of a secret) and what is expected.
  struct Fault: Equatable, CustomStringConvertible {
    let name: String
    let seen: String
    let expected: String

    var description: String { "\(name): \(seen); expected \(expected)" }
  }

  /// A bundle of all authorities, as systems have it, is a quarter of it.
  private static let maximumPEMBytes = 1024 * 1024
  /// Of names, and of IP addresses with a scope.
  private static let hostCharacters = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-:%".utf8)
  private let values: [String: String]
  private(set) var faults: [Fault] = []
  /// Of settings that were read as something else than plain text.
  private var kinds: [String: SettingQuote.Kind] = [:]

  init(_ values: [String: String]) {
    self.values = values
  }

  /// The process' own environment.
  static var processValues: [String: String] {
    var values: [String: String] = [:]
    var entry = environ
    while let pointer = entry.pointee {
      let parts = String(cString: pointer).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { values[String(parts[0])] = String(parts[1]) }
      entry += 1
    }
    return values
  }

  /// Wherever `seen` quotes the whole value, the fault shows no more of it than ``quoted(_:_:)``.
  mutating func report(_ name: String, seen: String, expected: String) {
    let value = string(name) ?? ""
    faults.append(
      Fault(name: name, seen: seen.replacing("'\(value)'", with: quoted(name, value)), expected: expected))
  }

  /// Quotes the value, or the part of it that is wrong.
  mutating func report(_ name: String, wrong value: some StringProtocol, expected: String) {
    report(name, seen: quoted(name, String(value)), expected: expected)
  }

  /// What a fault may show of a value of this setting.
  private func quoted(_ name: String, _ value: String) -> String {
    SettingQuote.text(value, as: kinds[name] ?? .plain)
  }

  /// The value without white space around it; nil when absent or blank.
  func string(_ name: String) -> String? {
    values[name].flatMap { EnvironmentReader.trimmed($0) }
  }

  /// A value that no fault shows.
  mutating func secret(_ name: String) -> String? {
    kinds[name] = .secret
    return string(name)
  }

  /// A URL, of which faults show neither user nor password, nor what is behind the host.
  mutating func url(_ name: String) -> String? {
    kinds[name] = .url
    return string(name)
  }

  /// The path of a file whose text may be put in its place by mistake.
  mutating func path(_ name: String) -> String? {
    kinds[name] = .path
    return string(name)
  }

  /// The first of `names` that is set.
  func first(of names: [String]) -> (name: String, value: String)? {
    for name in names {
      if let value = string(name) { return (name, value) }
    }
    return nil
  }

  /// Values separated by commas, without white space around them; empty ones are left out.
  func list(_ name: String) -> [String] {
    (string(name) ?? "").split(separator: ",").compactMap { EnvironmentReader.trimmed($0) }
  }

  private static func trimmed(_ value: some StringProtocol) -> String? {
    let trimmed = value.drop(while: \.isWhitespace)
    guard let last = trimmed.lastIndex(where: { !$0.isWhitespace }) else { return nil }
    return String(trimmed[...last])
  }

  mutating func integer(_ name: String, in range: ClosedRange<Int>, default fallback: Int) -> Int {
    guard let value = string(name) else { return fallback }
    guard let number: Int = EnvironmentReader.number(value), range.contains(number) else {
      report(name, wrong: value, expected: "a whole number from \(range.lowerBound) to \(range.upperBound)")
      return fallback
    }
    return number
  }

  /// Of digits alone.
  private static func number<Number: FixedWidthInteger>(_ text: some StringProtocol) -> Number? {
    text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Number(text) : nil
  }

  /// `value` if a server can be told to listen there: every interface has to be named. `other` is what else could stand there.
  mutating func address(_ name: String, _ value: String, or other: String = "") -> String? {
    if isAddress(value) { return value }
    report(
      name, wrong: value,
      expected: "host:port, [IPv6 address]:port, or unix:/path; port 0 for any free one (logged)\(other)")
    return nil
  }

  private func isAddress(_ value: String) -> Bool {
    do {
      guard case .tcp(let host, _) = try HTTPAddress(parsing: value) else { return true }
      let isNumber = value.reversed().prefix { $0 != ":" }.allSatisfy { $0.isASCII && $0.isNumber }
      return isNumber && !host.isEmpty && host.utf8.allSatisfy { EnvironmentReader.hostCharacters.contains($0) }
    } catch {
      return false
    }
  }

  mutating func boolean(_ name: String) -> Bool {
    switch string(name)?.lowercased() {
    case nil, "false", "0", "no", "off": return false
    case "true", "1", "yes", "on": return true
    case .some(let value):
      report(name, wrong: value, expected: "true or false")
      return false
    }
  }

  /// A number with its unit: `500ms`, `25s`, `15m`, `24h`, `30d`.
  mutating func duration(_ name: String, default fallback: Duration) -> Duration {
    guard let value = string(name) else { return fallback }
    let units: [(String, Int64)] = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)]
    for (unit, milliseconds) in units where value.hasSuffix(unit) {
      guard let number: Int64 = EnvironmentReader.number(value.dropLast(unit.count)), number > 0,
        number <= 366 * 86_400_000 / milliseconds
      else { continue }
      return .milliseconds(number * milliseconds)
    }
    report(name, wrong: value, expected: "a positive number with a unit: 500ms, 25s, 15m, 24h, 30d")
    return fallback
  }

  mutating func choice<Value: RawRepresentable & CaseIterable>(
    _ name: String, default fallback: Value
  ) -> Value where Value.RawValue == String {
    guard let value = string(name) else { return fallback }
    guard let choice = Value(rawValue: value.lowercased()) else {
      let known = Value.allCases.map(\.rawValue).joined(separator: ", ")
      report(name, wrong: value, expected: "one of \(known)")
      return fallback
    }
    return choice
  }

  /// PEM as text (real line ends or `\n`), or the path of a file that holds it. Never quoted in a fault.
  mutating func pem(_ name: String, isSecret: Bool = false) -> String? {
    kinds[name] = isSecret ? .secret : .path
    guard let value = string(name) else { return nil }
    if value.contains("-----BEGIN") {
      return value.split(separator: "\\n", omittingEmptySubsequences: false).joined(separator: "\n")
    }
    return file(name, path: value)
  }

  /// What stands in a PEM file.
  mutating func file(_ name: String, path: String) -> String? {
    kinds[name] = kinds[name] ?? .path
    let expected = "PEM text, or the path of a readable PEM file"
    let bytes = contents(name, path: path, maximumBytes: EnvironmentReader.maximumPEMBytes, expected: expected)
    guard let text = bytes.map({ String(decoding: $0, as: UTF8.self) }) else { return nil }
    guard text.contains("-----BEGIN") else {
      report(name, seen: "the file \(quoted(name, path)) holds no PEM", expected: "a file that begins with -----BEGIN")
      return nil
    }
    return text
  }

  /// What stands in a regular file: nothing else ends for certain.
  mutating func contents(_ name: String, path: String, maximumBytes: Int, expected: String) -> [UInt8]? {
    switch SettingFile.read(path, maximumBytes: maximumBytes) {
    case .success(let bytes): return bytes
    case .failure(let fault):
      report(name, seen: "the file \(quoted(name, path)) \(fault.reason)", expected: expected)
      return nil
    }
  }
}
