import EventLoop

extension Duration {
  /// Nanoseconds; 0 for a negative duration.
  var unsigned: UInt64 { UInt64(clamping: nanoseconds) }
}
