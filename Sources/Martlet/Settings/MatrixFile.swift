import JSON
import PushModel
import Sidecar

/// The file of `MARTLET_MATRIX`: `{"apps":{"<app_id>":{"bundleId","environment"?}}}`, described in docs/http/matrix-api.md.
struct MatrixFile: Sendable {
  static let setting = "MARTLET_MATRIX"
  private static let maximumBytes = 1024 * 1024
  private static let patternCount = 1...1000
  private static let form = "{\"apps\":{\"<app_id>\":{\"bundleId\":\"…\"}}}"

  let path: String

  /// Nil if the setting is absent.
  init?(_ reader: inout EnvironmentReader) {
    guard let path = reader.path(MatrixFile.setting) else { return nil }
    self.path = path
  }

  /// Reads the file and reports every fault.
  func read(_ reader: inout EnvironmentReader) -> MatrixApps {
    let (apps, faults) = read()
    for fault in faults {
      let place = fault.place.isEmpty ? "" : " \(fault.place)"
      reader.report(MatrixFile.setting, seen: "'\(path)'\(place): \(fault.seen)", expected: fault.expected)
    }
    return apps
  }

  /// Returns the apps and every fault of the file. The apps are to be used only if there is no fault.
  func read() -> (apps: MatrixApps, faults: [AppsFault]) {
    do throws(SettingFile.Fault) {
      return MatrixFile.read(try SettingFile.read(path, maximumBytes: MatrixFile.maximumBytes))
    } catch {
      let expected = error.expected ?? "the path of a readable JSON file: \(MatrixFile.form)"
      return (MatrixApps([:]), [AppsFault(place: "", seen: "the file \(error.reason)", expected: expected)])
    }
  }

  static func read(_ bytes: [UInt8]) -> (apps: MatrixApps, faults: [AppsFault]) {
    var reader = AppsReader(files: AppsKeyFiles(directory: ""), defaultEnvironment: .production)
    var apps: [String: MatrixApps.App] = [:]
    do {
      let value = try JSONValue(parsing: bytes)
      if let file = reader.object(value, "", members: ["apps"]), reader.require(file, "apps") {
        for (pattern, value) in entries(of: file, &reader) { apps[pattern] = reader.matrixApp(value, pattern) }
      }
    } catch {
      reader.report("", seen: "not JSON: \(error)", expected: form)
    }
    return (MatrixApps(apps), reader.faults)
  }

  private static func entries(of file: AppsObject, _ reader: inout AppsReader) -> [(String, JSONValue)] {
    guard let value = file["apps"], let members = value.members, patternCount.contains(members.count) else {
      reader.report(
        "apps", file["apps"] ?? .null,
        expected: "an object of \(patternCount.lowerBound) to \(patternCount.upperBound) app_ids")
      return []
    }
    return members.map { ($0.key, $0.value) }
  }
}

extension AppsReader {
  /// Returns the app of an entry; nil if it has a fault.
  fileprivate mutating func matrixApp(_ value: JSONValue, _ pattern: String) -> MatrixApps.App? {
    let place = AppsObject.place("apps", pattern)
    let length = MatrixApps.idLength
    if !length.contains(pattern.utf8.count) || !pattern.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) {
      report(
        place, seen: SettingQuote.text(pattern),
        expected:
          "an app_id of \(length.lowerBound) to \(length.upperBound) ASCII characters without spaces, where * is any text"
      )
    }
    guard let entry = object(value, place, members: ["bundleId", "environment"]), require(entry, "bundleId") else {
      return nil
    }
    let rule = "1 to 200 letters, digits or any of ._-"
    let bundleID = text(entry, "bundleId", expected: rule, where: BundleID.isWellFormed)
    let environment = readEnvironment(entry)
    return bundleID.map { MatrixApps.App(bundleID: $0, environment: environment) }
  }
}
