#if canImport(Glibc)
  import Glibc
#endif

/// The number of worker processes that a supervisor runs.
enum ProcessCount {
  static let range = 1...64

  /// Reads the value of `--processes`. `auto` is the number of cores that this process may use.
  static func parse(_ text: String?) throws(CommandError) -> Int {
    guard let text else { return 1 }
    if text == "auto" { return min(max(usableCores, range.lowerBound), range.upperBound) }
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text), range.contains(number) else {
      throw .usage("--processes takes a whole number from \(range.lowerBound) to \(range.upperBound), or auto")
    }
    return number
  }

  /// Cores that the process may run on, or fewer if the limits of the control groups (version 2) allow less.
  private static var usableCores: Int {
    cores(status: contents("/proc/self/status"), limits: controlGroupLimits)
  }

  /// `status` is the contents of /proc/self/status. `limits` are those of `cpu.max` files: `max 100000`, or quota and period in
  /// microseconds; a fraction of a core counts as one.
  static func cores(status: String, limits: [String]) -> Int {
    let quotas = limits.compactMap { limit -> Int? in
      let words = limit.split { $0 == " " || $0 == "\n" }
      guard words.count == 2, let quota = Int(words[0]), let period = Int(words[1]), quota > 0, period > 0 else {
        return nil
      }
      return (quota - 1) / period + 1
    }
    return max(1, (quotas + [allowedCores(status)]).min() ?? 1)
  }

  /// Counts a list such as `0-3,8`.
  private static func allowedCores(_ status: String) -> Int {
    let name = "Cpus_allowed_list:"
    guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix(name) }) else { return 1 }
    return line.dropFirst(name.count).split(separator: ",").reduce(0) { count, range in
      let ends = range.split(separator: "-").compactMap { Int($0.filter(\.isNumber)) }
      guard let first = ends.first, let last = ends.last, last >= first else { return count }
      return count + last - first + 1
    }
  }

  /// `cpu.max` of this process' group and of those around it. In a container the group is the root.
  private static var controlGroupLimits: [String] {
    let own = contents("/proc/self/cgroup").split(separator: "\n").first { $0.hasPrefix("0::/") }
    var group = String(own?.dropFirst(3) ?? "/")
    var limits: [String] = []
    while true {
      limits.append(contents("/sys/fs/cgroup\(group == "/" ? "" : group)/cpu.max"))
      guard group != "/", let slash = group.lastIndex(of: "/") else { return limits }
      group = slash == group.startIndex ? "/" : String(group[..<slash])
    }
  }

  /// Empty if the file cannot be read.
  private static func contents(_ path: String) -> String {
    guard let file = fopen(path, "r") else { return "" }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    return String(decoding: bytes[..<fread(&bytes, 1, bytes.count, file)], as: UTF8.self)
  }
}
