/// What can be changed while the gateway runs.
struct GatewaySettings: Sendable {
  /// SETTINGS_MAX_CONCURRENT_STREAMS once a connection has shown a valid provider token.
  var maximumStreams = 1000
  /// Before that.
  var initialStreams = 1
  /// Added to every answer.
  var addedNanoseconds: UInt64 = 0
  var checksAuthorization = true
  /// A connection may not change its provider token more often. Seconds; 0 allows it.
  var tokenUpdateSeconds: Int64 = 0
}
