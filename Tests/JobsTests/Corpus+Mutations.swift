/// What jobs are changed with.
extension Corpus {
  /// Values on both sides of limits, types and formats.
  static let values =
    [
      "null", "true", "false", "0", "1", "-1", "5", "10", "1.0", "0.5", "1.5", "1e2", "2147483647", "2147483648",
      "2419201",
      "99999999999", "100000000000", "100000000001", "253402300800", "253402300799999", "1e300", "[]", "{}", "[{}]",
      #"{"aps":1}"#, #"{"a":1}"#, #"{"name":"n"}"#,
      #""""#,
      #"" ""#, #""a""#, #""A b""#, #""a\n""#, #""\u0000""#, #""\u0085x\u00a0""#, #""x\u0001""#, #""alert""#,
      #""background""#,
      #""voip""#, #""liveactivity""#, #""widgets""#, #""pushtotalk""#, #"{"app":"com.example"}"#, #""critical""#,
      #""attention_ping""#, #""2026-02-30T00:00:00Z""#,
      #""2026-12-31T23:59:59.123456789-0130""#, #""2026-12-31T24:00:00Z""#, #""1969-12-31T00:00:00Z""#, #""martlet:x""#,
      #""00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01""#, #""push:jobs""#, #""push:users""#, #""start""#,
      #""update""#, #""end""#,
      #""match:tokens""#, #"{"activity":"m"}"#, #"["\#(token)"]"#, "\"\(token)\"", #"{"user":"b"}"#,
      #"{"instance":"b"}"#,
    ] + [20, 64, 65, 128, 129, 200, 201, 256, 257, 512, 513].map { "\"\(String(repeating: "x", count: $0))\"" }
    + [64, 65, 200, 201, 256, 257].map { "\"\(String(repeating: "é", count: $0))\"" }

  static let keys = [
    "id", "to", "app", "title", "subtitle", "body", "badge", "sound", "category", "threadId", "interruptionLevel",
    "relevanceScore", "contentAvailable", "mutableContent", "data", "payload", "pushType", "priority", "collapseId",
    "expiration", "ttl", "class", "preview", "sendAt", "enqueuedAt", "dedupe", "atMostOnce", "replyTo", "trace",
    "pusher",
    "other", "user", "token", "tokens", "instance", "critical", "name", "volume", "activity", "channel", "liveActivity",
    "event",
    "contentState", "timestamp", "staleDate", "dismissalDate", "attributesType", "attributes", "requestToken",
    "inputChannel",
  ]
}
