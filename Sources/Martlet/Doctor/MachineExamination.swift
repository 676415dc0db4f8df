import JSON
import Operations
import Program

#if canImport(Glibc)
  import Glibc
#endif

/// Checks the limits and the time zones of the machine.
package struct MachineExamination {
  /// Enough for a service with thousands of clients: each connection needs one.
  private static let comfortableDescriptors: UInt64 = 4096
  private static let neededDescriptors: UInt64 = 256
  private static let zoneDirectory = "/usr/share/zoneinfo"

  /// The value of `MARTLET_TIME_ZONE`, or nil if it is not set.
  let timeZone: String?

  func findings() -> [Finding] {
    var limit = rlimit()
    let isKnown = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
    return [
      MachineExamination.descriptors(isKnown ? UInt64(limit.rlim_max) : nil),
      MachineExamination.zones(timeZone) { access("\(MachineExamination.zoneDirectory)/\($0)", R_OK) == 0 },
    ]
  }

  /// `limit` is the hard limit, to which services raise their soft limit. Nil if it is unknown.
  static func descriptors(_ limit: UInt64?) -> Finding {
    let fix = "raise it with ulimit -Hn, LimitNOFILE of the unit, or --ulimit nofile of the container"
    guard let limit else { return Finding("descriptors", .warning, "the limit of open files is unknown") }
    let text = limit > UInt64(Int64.max) ? "no limit of open files" : "up to \(limit) open files"
    if limit >= comfortableDescriptors { return Finding("descriptors", .ok, text) }
    return Finding("descriptors", limit < neededDescriptors ? .problem : .warning, text, fix: fix)
  }

  /// `isThere` returns whether the time zone database has a zone.
  static func zones(_ name: String?, isThere: (String) -> Bool) -> Finding {
    guard isThere("UTC") || isThere("Etc/UTC") else {
      return Finding(
        "time zones", name == nil ? .warning : .problem, "no time zone database in \(zoneDirectory)",
        fix: "install tzdata, which quiet hours need")
    }
    guard let name else { return Finding("time zones", .ok, "the database is installed") }
    return isThere(name)
      ? Finding("time zones", .ok, "\(name) is known")
      : Finding(
        "time zones", .problem, "MARTLET_TIME_ZONE: unknown zone \(ValueQuote.text(name))",
        fix: "set a name like Europe/Berlin or UTC")
  }
}
