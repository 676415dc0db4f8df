#if canImport(Glibc)
  import Glibc
#endif

/// How many descriptors the process may have open.
package enum DescriptorLimit {
  /// Kept for files and for connections that the process opens itself.
  private static let reserve = 128

  /// Raises the soft limit to the hard one: the usual soft limit of 1,024 is less than a server's connections.
  package static func raise() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }

  /// How many of the `wanted` connections there is room for now.
  static func room(for wanted: Int) -> Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return wanted }
    return room(for: wanted, limit: Int(clamping: limit.rlim_cur))
  }

  /// Of few descriptors half is kept.
  static func room(for wanted: Int, limit: Int) -> Int {
    min(wanted, max(1, limit / 2, limit - reserve))
  }
}
