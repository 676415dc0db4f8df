import Program
import Policy
import Jobs

/// The settings of delivery policies: the built-in policy, those of a file, quiet hours and time zone.
package enum PolicySettings {
  private static let zoneName = "MARTLET_TIME_ZONE"
  static let fileName = "MARTLET_POLICY_FILE"

  /// Sets the time zone of the process to the configured one. Call it before there are other threads. An invalid zone is reported
  /// by ``read(_:)``.
  static func adoptTimeZone(_ values: [String: String]) {
    guard let zone = EnvironmentReader(values).string(zoneName), SystemZone.fault(of: zone) == nil else { return }
    SystemZone.adopt(zone)
  }

  /// Returns the policies and reports every fault.
  static func read(_ reader: inout EnvironmentReader) -> PolicyBook {
    checkTimeZone(&reader)
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

  /// Reports a zone that glibc does not find, for which it would use UTC.
  private static func checkTimeZone(_ reader: inout EnvironmentReader) {
    let expected = "a zone like Europe/Berlin or UTC; Debian's package tzdata has the zones"
    if let zone = reader.string(zoneName) {
      if let fault = SystemZone.fault(of: zone) {
        reader.report(zoneName, seen: "'\(zone)', \(fault)", expected: expected)
      }
    } else if let zone = reader.string("TZ"), let fault = SystemZone.fault(ofVariable: zone) {
      reader.report("TZ", seen: "'\(zone)', \(fault)", expected: expected)
    }
  }
}
