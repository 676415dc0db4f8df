import Policy
import Jobs

/// The delivery policies: the built-in one and those of a file, in the hours and the zone of their owner.
package enum PolicySettings {
  private static let zoneName = "MARTLET_TIME_ZONE"
  private static let fileName = "MARTLET_POLICY_FILE"

  /// Makes the configured zone that of the process; only before there are other threads. What is wrong with it is
  /// reported by ``read(_:)``.
  static func adoptTimeZone(_ values: [String: String]) {
    guard let zone = EnvironmentReader(values).string(zoneName), SystemZone.fault(of: zone) == nil else { return }
    SystemZone.adopt(zone)
  }

  /// Reports every fault.
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
    for fault in faults {
      reader.report(
        fileName, seen: fault.path.isEmpty ? fault.seen : "\(fault.path): \(fault.seen)", expected: fault.expected)
    }
    return book
  }

  private static func readQuietHours(_ reader: inout EnvironmentReader) -> QuietHours? {
    guard let value = reader.string("MARTLET_QUIET_HOURS") else { return .standard }
    if value.lowercased() == "off" { return nil }
    guard let hours = QuietHours(value) else {
      reader.report("MARTLET_QUIET_HOURS", wrong: value, expected: QuietHours.expected)
      return .standard
    }
    return hours
  }

  /// glibc would take UTC for a zone that it does not find.
  private static func checkTimeZone(_ reader: inout EnvironmentReader) {
    let expected = "a zone like Europe/Berlin or UTC; zones come with Debian's package tzdata"
    if let zone = reader.string(zoneName) {
      if let fault = SystemZone.fault(of: zone) {
        reader.report(zoneName, seen: "'\(zone)', \(fault)", expected: expected)
      }
    } else if let zone = reader.string("TZ"), let fault = SystemZone.fault(ofVariable: zone) {
      reader.report("TZ", seen: "'\(zone)', \(fault)", expected: expected)
    }
  }
}
