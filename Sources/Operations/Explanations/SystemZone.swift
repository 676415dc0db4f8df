#if canImport(Glibc)
  import Glibc
#endif

/// The time zone of the process in glibc.
public enum SystemZone {
  private static let directory = "/usr/share/zoneinfo"

  /// Sets the time zone of the process. Call it before there are other threads, because it changes the environment.
  public static func adopt(_ name: String) {
    setenv("TZ", name, 1)
    tzset()
  }

  /// Returns why a name is not a zone of this machine, or nil if it is one. glibc itself would use UTC without an error.
  public static func fault(of name: String) -> String? {
    if name == "UTC" { return nil }
    let isWellFormed =
      (1...64).contains(name.utf8.count) && !name.hasPrefix("/") && !name.contains("..")
      && name.utf8.allSatisfy { isLetterOrDigit($0) || "+-_/".utf8.contains($0) }
    guard isWellFormed else { return "not the name of a zone" }
    return isZoneFile("\(directory)/\(name)") ? nil : "not installed on this machine"
  }

  /// Returns the same for a value of `TZ`, which may also be a rule (`CET-1CEST,M3.5.0,M10.5.0/3`) or a file.
  public static func fault(ofVariable value: String) -> String? {
    let name = value.hasPrefix(":") ? String(value.dropFirst()) : value
    if name.hasPrefix("/") { return isZoneFile(name) ? nil : "not a time zone file" }
    let isRule = name.utf8.first.map { $0 == UInt8(ascii: "<") || isLetterOrDigit($0) } == true
    let hasDigit = name.utf8.contains { (0x30...0x39).contains($0) }
    if isRule, hasDigit, !name.contains("/") || name.contains(",") { return nil }
    return fault(of: name)
  }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: false
    }
  }

  private static func isZoneFile(_ path: String) -> Bool {
    // Without O_NONBLOCK, opening a pipe without a writer would block.
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var magic = [UInt8](repeating: 0, count: 4)
    return Glibc.read(descriptor, &magic, magic.count) == magic.count && magic == Array("TZif".utf8)
  }
}

extension LocalTime {
  /// The local time in the zone of the process.
  public static let system = LocalTime { instant in
    var instant = time_t(instant)
    var local = tm()
    guard localtime_r(&instant, &local) != nil else { return 0 }
    return Int64(local.tm_gmtoff)
  }
}
