import EventLoop
import Glibc

/// Blocking waits of the connector's queue.
enum Poll {
  /// False when `deadline` (monotonic nanoseconds) came first.
  static func wait(_ descriptor: Int32, for events: Int32, until deadline: UInt64) -> Bool {
    while true {
      let now = Clock.monotonicNanoseconds
      guard now < deadline else { return false }
      var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
      let count = poll(&entry, 1, Int32(clamping: (deadline - now) / 1_000_000 + 1))
      if count > 0 { return true }
      if count < 0, errno != EINTR { return false }
    }
  }
}
