/// A connection that is open.
struct Peer {
  let descriptor: Int32
  /// When the request that it is sending must be complete. Monotonic nanoseconds.
  var deadline: UInt64
}
