import JSON
import Program
import PushModel
import Sidecar

/// The file of `MARTLET_MATRIX`: `{"apps":{"<app_id>":{"bundleId","environment"?}}}`, described in docs/http/matrix-api.md.
struct MatrixFile: Sendable {
  private static let maximumBytes = 1024 * 1024
  private static let patternCount = 1...1000
  private static let form = #"{"apps":{"<app_id>":{"bundleId":"…"}}}"#

  let path: String

  init(path: String) {
    self.path = path
  }

  /// Nil if the setting is absent.
  init?(_ reader: inout EnvironmentReader) {
    guard let path = reader.text(MatrixPart.file) else { return nil }
    self.path = path
  }

  /// Reads the file and reports every fault.
  func read(_ reader: inout EnvironmentReader) -> MatrixApps {
    let (apps, faults) = read()
    reader.report(MatrixPart.file.name, path, faults)
    return apps
  }

  /// Returns the apps and every fault of the file. The apps are to be used only if there is no fault.
  func read() -> (apps: MatrixApps, faults: [InvalidValue]) {
    do throws(InvalidValue) {
      let expected = "the path of a readable JSON file: \(MatrixFile.form)"
      return MatrixFile.read(try SettingFile.read(path, maximumBytes: MatrixFile.maximumBytes, expected: expected))
    } catch {
      return (MatrixApps([:]), [error])
    }
  }

  static func read(_ bytes: [UInt8]) -> (apps: MatrixApps, faults: [InvalidValue]) {
    var fields = JSONFieldReader()
    var apps: [String: MatrixApps.App] = [:]
    if let file = fields.object(parsing: bytes, names: ["apps"], expected: form), fields.require(file, "apps") {
      for (pattern, value) in entries(of: file, &fields) { apps[pattern] = app(value, pattern, &fields) }
    }
    return (MatrixApps(apps), fields.faults)
  }

  private static func entries(of file: JSONFields, _ fields: inout JSONFieldReader) -> [(String, JSONValue)] {
    guard let value = file["apps"], let members = value.members, patternCount.contains(members.count) else {
      fields.report(
        "apps", file["apps"] ?? .null,
        expected: "an object of \(patternCount.lowerBound) to \(patternCount.upperBound) app_ids")
      return []
    }
    return members.map { ($0.key, $0.value) }
  }

  /// Returns the app of an entry; nil if it has a fault.
  private static func app(
    _ value: JSONValue, _ pattern: String, _ fields: inout JSONFieldReader
  ) -> MatrixApps.App? {
    let place = JSONFields.place("apps", pattern)
    let length = MatrixApps.idLength
    if !length.contains(pattern.utf8.count) || !pattern.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) {
      fields.report(
        place, seen: ValueQuote.text(pattern),
        expected:
          "an app_id of \(length.lowerBound) to \(length.upperBound) ASCII characters without spaces, where * is any text"
      )
    }
    guard let entry = fields.object(value, place, names: ["bundleId", "environment"]),
      fields.require(entry, "bundleId")
    else { return nil }
    let bundleID = fields.text(
      entry, "bundleId", expected: Charset.bundleID.description, where: BundleID.isWellFormed)
    let environment = fields.environment(entry)
    return bundleID.map { MatrixApps.App(bundleID: $0, environment: environment) }
  }
}
