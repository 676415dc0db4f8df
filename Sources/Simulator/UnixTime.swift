#if canImport(Glibc)
  import Glibc
#endif

/// The date.
enum UnixTime {
  /// Since 1970.
  static var nanoseconds: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
