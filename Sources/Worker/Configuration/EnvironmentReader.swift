import HTTPServer

#if canImport(Glibc)
  import Glibc
#endif

/// Reads settings from the environment and gathers every fault, so that all are reported at once.
struct EnvironmentReader {
  /// One wrong setting: what was seen (never of a secret) and what is expected.
  struct Fault: Equatable, CustomStringConvertible {
    let name: String
    let seen: String
    let expected: String

    var description: String { "\(name): \(seen); expected \(expected)" }
  }

  /// A bundle of all authorities, as systems have it, is a quarter of it.
  private static let maximumPEMBytes = 1024 * 1024
  private let values: [String: String]
  private(set) var faults: [Fault] = []

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

  mutating func report(_ name: String, seen: String, expected: String) {
    faults.append(Fault(name: name, seen: seen, expected: expected))
  }

  /// The value without white space around it; nil when absent or blank.
  func string(_ name: String) -> String? {
    values[name].flatMap { EnvironmentReader.trimmed($0) }
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
    guard let number = Int(value), range.contains(number) else {
      report(
        name, seen: "'\(value)'", expected: "a whole number from \(range.lowerBound) to \(range.upperBound)")
      return fallback
    }
    return number
  }

  /// `value` if a server can be told to listen there: every interface has to be named. `other` is what else could stand there.
  mutating func address(_ name: String, _ value: String, or other: String = "") -> String? {
    var isAddress = !value.hasPrefix(":")
    do { _ = try HTTPAddress(parsing: value) } catch { isAddress = false }
    if isAddress { return value }
    report(
      name, seen: "'\(value)'",
      expected: "host:port, [IPv6 address]:port, or unix:/path; port 0 for any free one (logged)\(other)")
    return nil
  }

  mutating func boolean(_ name: String) -> Bool {
    switch string(name)?.lowercased() {
    case nil, "false", "0", "no", "off": return false
    case "true", "1", "yes", "on": return true
    case .some(let value):
      report(name, seen: "'\(value)'", expected: "true or false")
      return false
    }
  }

  /// A number with its unit: `500ms`, `25s`, `15m`, `24h`, `30d`.
  mutating func duration(_ name: String, default fallback: Duration) -> Duration {
    guard let value = string(name) else { return fallback }
    let units: [(String, Int64)] = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)]
    for (unit, milliseconds) in units where value.hasSuffix(unit) {
      guard let number = Int64(value.dropLast(unit.count)), number > 0, number <= 366 * 86_400_000 / milliseconds else {
        continue
      }
      return .milliseconds(number * milliseconds)
    }
    report(name, seen: "'\(value)'", expected: "a positive number with a unit: 500ms, 25s, 15m, 24h, 30d")
    return fallback
  }

  mutating func choice<Value: RawRepresentable & CaseIterable>(
    _ name: String, default fallback: Value
  ) -> Value where Value.RawValue == String {
    guard let value = string(name) else { return fallback }
    guard let choice = Value(rawValue: value.lowercased()) else {
      let known = Value.allCases.map(\.rawValue).joined(separator: ", ")
      report(name, seen: "'\(value)'", expected: "one of \(known)")
      return fallback
    }
    return choice
  }

  /// PEM as text (real line ends or `\n`), or the path of a file that holds it. Never quoted in a fault.
  mutating func pem(_ name: String) -> String? {
    guard let value = string(name) else { return nil }
    if value.contains("-----BEGIN") {
      return value.split(separator: "\\n", omittingEmptySubsequences: false).joined(separator: "\n")
    }
    return file(name, path: value)
  }

  mutating func file(_ name: String, path: String) -> String? {
    let expected = "PEM text, or the path of a readable PEM file"
    let bytes = contents(name, path: path, maximumBytes: EnvironmentReader.maximumPEMBytes, expected: expected)
    guard let text = bytes.map({ String(decoding: $0, as: UTF8.self) }) else { return nil }
    guard text.contains("-----BEGIN") else {
      report(name, seen: "the file '\(path)' holds no PEM", expected: "a file that begins with -----BEGIN")
      return nil
    }
    return text
  }

  /// What stands in a file.
  mutating func contents(_ name: String, path: String, maximumBytes: Int, expected: String) -> [UInt8]? {
    guard let handle = fopen(path, "r") else {
      report(
        name, seen: "the file '\(path)' cannot be read (\(String(cString: strerror(errno))))", expected: expected)
      return nil
    }
    defer { fclose(handle) }
    var bytes = [UInt8](repeating: 0, count: maximumBytes + 1)
    let count = fread(&bytes, 1, bytes.count, handle)
    guard ferror(handle) == 0, count <= maximumBytes else {
      let why = count > maximumBytes ? "is larger than \(maximumBytes) bytes" : "cannot be read"
      report(name, seen: "the file '\(path)' \(why)", expected: expected)
      return nil
    }
    return Array(bytes[..<count])
  }
}
