#if canImport(Glibc)
  import Glibc
#endif

/// The two clocks: a monotonic one for deadlines and the time of day for records.
public enum Clock {
  /// Nanoseconds on CLOCK_MONOTONIC; advances while the process is stopped.
  public static var monotonicNanoseconds: UInt64 {
    nanoseconds(CLOCK_MONOTONIC)
  }

  /// Milliseconds since 1970.
  public static var unixMilliseconds: Int64 {
    Int64(nanoseconds(CLOCK_REALTIME) / 1_000_000)
  }

  /// Nanoseconds since 1970.
  public static var unixNanoseconds: UInt64 {
    nanoseconds(CLOCK_REALTIME)
  }

  private static func nanoseconds(_ clock: clockid_t) -> UInt64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}

extension Duration {
  /// The duration in nanoseconds, at most 292 years.
  public var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, isOverflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    guard !isOverflow else { return seconds < 0 ? .min : .max }
    let (sum, isBeyond) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
    return isBeyond ? seconds < 0 ? .min : .max : sum
  }

  /// The duration in nanoseconds; 0 for a negative duration.
  public var unsignedNanoseconds: UInt64 { UInt64(clamping: nanoseconds) }

  public var milliseconds: Int64 { nanoseconds / 1_000_000 }
}
