#if canImport(Glibc)
  import Glibc
#endif

/// What the process has used so far, all threads together.
enum CPUTime {
  static var seconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
