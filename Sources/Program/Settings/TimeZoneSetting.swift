import Operations

/// `MARTLET_TIME_ZONE`: the time zone of the process.
package enum TimeZoneSetting {
  private static let name = Setting.timeZone.name

  /// Sets the time zone of the process to the configured one. Call it before there are other threads. An invalid zone is reported
  /// by ``check(_:)``.
  package static func adopt(_ values: [String: String]) {
    guard let zone = EnvironmentReader(values).string(name), SystemZone.fault(of: zone) == nil else { return }
    SystemZone.adopt(zone)
  }

  /// Reports a zone that glibc does not find, for which it would use UTC.
  package static func check(_ reader: inout EnvironmentReader) {
    let expected = "a zone like Europe/Berlin or UTC; Debian's package tzdata has the zones"
    if let zone = reader.string(name) {
      if let fault = SystemZone.fault(of: zone) {
        reader.report(name, seen: "'\(zone)', \(fault)", expected: expected)
      }
    } else if let zone = reader.string("TZ"), let fault = SystemZone.fault(ofVariable: zone) {
      reader.report("TZ", seen: "'\(zone)', \(fault)", expected: expected)
    }
  }
}
