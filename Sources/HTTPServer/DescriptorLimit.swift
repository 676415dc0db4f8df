#if canImport(Glibc)
  import Glibc
#endif

/// How many descriptors the process may have open.
package enum DescriptorLimit {
  /// Raises the soft limit to the hard one: the usual soft limit of 1,024 is less than a server's connections.
  package static func raise() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}
