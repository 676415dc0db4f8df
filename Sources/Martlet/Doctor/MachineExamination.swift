#if canImport(Glibc)
  import Glibc
#endif

/// Looks at what the machine gives a process.
package struct MachineExamination {
  /// Descriptors: every connection and client takes one.
  private static let comfortableDescriptors: UInt64 = 4096
  private static let neededDescriptors: UInt64 = 256
  private static let zoneDirectory = "/usr/share/zoneinfo"

  /// Of MARTLET_TIME_ZONE; nil when it is not set.
  let timeZone: String?

  func findings() -> [Finding] {
    var limit = rlimit()
    let isKnown = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
    return [
      MachineExamination.descriptors(isKnown ? UInt64(limit.rlim_max) : nil),
      MachineExamination.zones(timeZone) { access("\(MachineExamination.zoneDirectory)/\($0)", R_OK) == 0 },
    ]
  }

  /// `limit` is the hard one: services raise theirs to it.
  static func descriptors(_ limit: UInt64?) -> Finding {
    let fix = "raise it: ulimit -Hn, LimitNOFILE of the unit, or --ulimit nofile of the container"
    guard let limit else { return Finding("descriptors", .warn, "the limit of open files is unknown") }
    let text = limit > UInt64(Int64.max) ? "no limit of open files" : "up to \(limit) open files"
    if limit >= comfortableDescriptors { return Finding("descriptors", .ok, text) }
    return Finding("descriptors", limit < neededDescriptors ? .fail : .warn, text, fix: fix)
  }

  /// `isThere` tells whether the time zone database has a zone.
  static func zones(_ name: String?, isThere: (String) -> Bool) -> Finding {
    guard isThere("UTC") || isThere("Etc/UTC") else {
      return Finding(
        "time zones", name == nil ? .warn : .fail, "no time zone database in \(zoneDirectory)",
        fix: "install tzdata: quiet hours are read in a zone")
    }
    guard let name else { return Finding("time zones", .ok, "the database is there") }
    return isThere(name)
      ? Finding("time zones", .ok, "\(name) is known")
      : Finding(
        "time zones", .fail, "MARTLET_TIME_ZONE: there is no zone \(SettingQuote.text(name))",
        fix: "a name like Europe/Berlin or UTC")
  }
}
