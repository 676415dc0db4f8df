import JSON
import Program

/// The settings of delivery policies: the built-in policy, those of a file, and quiet hours.
enum PolicySettings {
  static let fileName = "MARTLET_POLICY_FILE"

  /// Returns the policies and reports every fault.
  static func read(_ reader: inout EnvironmentReader) -> PolicyBook {
    let quietHours = readQuietHours(&reader)
    guard let path = reader.string(fileName) else {
      return PolicyFile.read(Array(#"{"policies":[]}"#.utf8), quietHours: quietHours).book
    }
    guard
      let bytes = reader.contents(
        fileName, path: path, maximumBytes: PolicyFile.maximumBytes, expected: "the path of a readable JSON file")
    else { return .standard }
    let (book, faults) = PolicyFile.read(bytes, quietHours: quietHours)
    reader.report(fileName, path, faults)
    return book
  }

  private static func readQuietHours(_ reader: inout EnvironmentReader) -> QuietHours? {
    let name = "MARTLET_QUIET_HOURS"
    if reader.string(name)?.lowercased() == "off" { return nil }
    return reader.value(name, expected: QuietHours.expected) { QuietHours($0) } ?? .standard
  }
}
