import Redis

/// The stream of events, and the keys beside it. All are in one hash slot, except ``outbox(of:)``.
public enum EventStream {
  /// | `push:events` | stream, about 100,000 entries | only with [events](events.md): field `event`, JSON
  /// `{"type","at","data"}` |
  public static let key = "push:events"

  /// The approximate number of events that are kept.
  package static let maximumLength = 100_000

  /// | `martlet:{push:events}:forwarded:<token>` | string | 1 hour | on a cluster: the number of the latest event of a
  /// device that is in the stream |
  static func forwarded(_ token: String) -> String { "martlet:{push:events}:forwarded:\(token)" }

  /// | `martlet:{push:token:<token>}:events` | list | 7 days; 2 hours without events | on a cluster: events of a device
  /// that are not in the stream yet: a number, then JSON. Without such events it has the number of the latest. |
  public static func outbox(of key: String) -> String { "martlet:{\(key)}:events" }

  static func append(_ event: Event) -> RedisCommand {
    RedisCommand("XADD", key, "MAXLEN", "~").with(maximumLength).with("*").with("event").with(event.json)
  }

  /// Lua: writes one event to the stream `key`, both expressions, and returns the reply or an error.
  package static func append(to key: String, _ event: String) -> String {
    "redis.pcall('XADD', \(key), 'MAXLEN', '~', \(maximumLength), '*', 'event', \(event))"
  }
}
