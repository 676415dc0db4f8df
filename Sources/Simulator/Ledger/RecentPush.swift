/// One push as it came, for the last few.
struct RecentPush {
  var head = RequestHead()
  var id = PushID(high: 0, low: 0)
  /// Unix nanoseconds.
  var arrival: UInt64 = 0
  var payloadBytes = 0
  var status = 0
  var reason: String?
}
