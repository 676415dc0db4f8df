package import Redis

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

  /// Writes events, JSON.
  ///
  /// Returns 1. PERSIST changes nothing; as the first write it makes a full Redis accept the next one.
  static let appendAll = RedisScript(
    keys: ["stream"], arguments: ["events..."],
    """
    redis.call('PERSIST', stream)
    for _, event in ipairs(ARGV) do
      local reply = \(append(to: "stream", "event"))
      if type(reply) == 'table' and reply.err then return reply end
    end
    return 1
    """)

  /// Writes an event, JSON, if there is a stream of events: for programs that do not know whether events are written.
  ///
  /// Returns whether it was written, 1 or 0.
  package static let appendIfPresent = RedisScript(
    keys: ["stream"], arguments: ["event"],
    """
    if redis.call('EXISTS', stream) == 0 then return 0 end
    redis.call('PERSIST', stream)
    \(append(to: "stream", "event"))
    return 1
    """)

  /// Lua: writes one event to the stream `key`, both expressions, and returns the reply or an error.
  package static func append(to key: String, _ event: String) -> String {
    "redis.pcall('XADD', \(key), 'MAXLEN', '~', \(maximumLength), '*', 'event', \(event))"
  }
}
