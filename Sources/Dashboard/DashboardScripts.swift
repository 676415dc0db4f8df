import Redis

/// The atomic steps of the dashboard.
enum DashboardScripts {
  /// `most`: about how many entries the stream of the log keeps. `fields`: names and values of the entry.
  ///
  /// PERSIST as the first write makes a full Redis accept the next one: what an operator does then is written too.
  private static let appendEntryScript = RedisScript(
    keys: ["log"], arguments: ["most", "fields..."],
    """
    redis.call('PERSIST', log)
    return redis.call('XADD', log, 'MAXLEN', '~', most, '*', unpack(ARGV, fields + 1))
    """)

  static func appendEntry(log: String, most: Int, fields: RedisList) -> RedisCall {
    appendEntryScript.call(keys: log, arguments: most, fields)
  }

  /// `request` identifies the request that took the form.
  private static let releaseFormScript = RedisScript(
    keys: ["form"], arguments: ["request"],
    "if redis.call('GET', form) == request then return redis.call('DEL', form) end return 0")

  static func releaseForm(form: String, request: String) -> RedisCall {
    releaseFormScript.call(keys: form, arguments: request)
  }
}
