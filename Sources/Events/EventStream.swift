import Redis

/// The stream of events, and the keys beside it. All are in one hash slot, except ``outbox(of:)``.
public enum EventStream {
  /// Entries with one field, `event`.
  public static let key = "push:events"

  /// The approximate number of events that are kept.
  package static let maximumLength = 100_000

  /// String with a TTL: the number of the latest event of a device that was taken from its outbox.
  static func forwarded(_ token: String) -> String { "martlet:{push:events}:forwarded:\(token)" }

  /// List of the events about the device under `key` that are not in the stream yet, in the hash slot of that key.
  public static func outbox(of key: String) -> String { "martlet:{\(key)}:events" }

  static func append(_ event: Event) -> RedisCommand {
    RedisCommand("XADD", key, "MAXLEN", "~").with(maximumLength).with("*").with("event").with(event.json)
  }

  /// Lua: writes one event to the stream `key`, both expressions, and returns the reply or an error.
  package static func append(to key: String, _ event: String) -> String {
    "redis.pcall('XADD', \(key), 'MAXLEN', '~', \(maximumLength), '*', 'event', \(event))"
  }
}
