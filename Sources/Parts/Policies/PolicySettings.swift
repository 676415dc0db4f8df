import JSON
import Program

/// The settings of delivery policies: the built-in policy, those of a file, and quiet hours.
enum PolicySettings {
  /// Returns the policies and reports every fault.
  static func read(_ reader: inout EnvironmentReader) -> PolicyBook {
    let quietHours = readQuietHours(&reader)
    guard let path = reader.text(PoliciesPart.file) else {
      return PolicyFile.read(Array(#"{"policies":[]}"#.utf8), quietHours: quietHours).book
    }
    guard
      let bytes = reader.contents(
        PoliciesPart.file.name, path: path, maximumBytes: PolicyFile.maximumBytes,
        expected: "the path of a readable JSON file")
    else { return .standard }
    let (book, faults) = PolicyFile.read(bytes, quietHours: quietHours)
    reader.report(PoliciesPart.file.name, path, faults)
    return book
  }

  private static func readQuietHours(_ reader: inout EnvironmentReader) -> QuietHours? {
    if reader.text(PoliciesPart.quietHours)?.lowercased() == "off" { return nil }
    return reader.value(PoliciesPart.quietHours, expected: QuietHours.expected) { QuietHours($0) } ?? .standard
  }
}
