package import Redis

/// The atomic steps of the stream of events.
package enum EventScripts {
  /// Those that move events from an outbox to the stream.
  package static let outbox = [publishScript, trimScript]

  /// Writes events, JSON.
  ///
  /// Returns 1. PERSIST changes nothing; as the first write it makes a full Redis accept the next one.
  private static let appendAllScript = RedisScript(
    keys: ["stream"], arguments: ["events..."],
    """
    redis.call('PERSIST', stream)
    for _, event in ipairs(ARGV) do
      local reply = \(EventStream.append(to: "stream", "event"))
      if type(reply) == 'table' and reply.err then return reply end
    end
    return 1
    """)

  static func appendAll(stream: String, events: RedisList) -> RedisCall {
    appendAllScript.call(keys: stream, arguments: events)
  }

  /// Writes an event, JSON, if there is a stream of events: for programs that do not know whether events are written.
  ///
  /// Returns whether it was written, 1 or 0.
  private static let appendIfPresentScript = RedisScript(
    keys: ["stream"], arguments: ["event"],
    """
    if redis.call('EXISTS', stream) == 0 then return 0 end
    redis.call('PERSIST', stream)
    \(EventStream.append(to: "stream", "event"))
    return 1
    """)

  package static func appendIfPresent(stream: String, event: [UInt8]) -> RedisCall {
    appendIfPresentScript.call(keys: stream, arguments: event)
  }

  /// - `after`, `last`: the id before the first entry, and the last id, or `+`.
  /// - `most`, `limit`: entries at most, and bytes of their events at most, and of one event.
  ///
  /// Returns {length, first id or empty, last id, number of entries ever written or -1, {id, event}…}.
  private static let pageScript = RedisScript(
    keys: ["stream"], arguments: ["after", "last", "most", "limit"],
    """
    local kind = redis.call('TYPE', stream).ok
    if kind == 'none' then return {0, '', '0-0', -1} end
    if kind ~= 'stream' then return redis.error_reply('WRONGTYPE ' .. stream .. ' is not a stream') end
    local info, known = redis.call('XINFO', 'STREAM', stream), {}
    limit = tonumber(limit)
    for i = 1, #info, 2 do known[info[i]] = info[i + 1] end
    local first = known['first-entry']
    local page = {known['length'], first and first[1] or '', known['last-generated-id'], known['entries-added'] or -1}
    local bytes = 0
    for _, entry in ipairs(redis.call('XRANGE', stream, '(' .. after, last, 'COUNT', most)) do
      local event = ''
      for i = 1, #entry[2], 2 do if entry[2][i] == 'event' then event = entry[2][i + 1] end end
      if #event > limit then event = '' end
      bytes = bytes + #event
      if bytes > limit and page[5] then break end
      page[#page + 1] = {entry[1], event}
    end
    return page
    """)

  package static func page(stream: String, after: String, last: String, most: Int, limit: Int) -> RedisCall {
    pageScript.call(keys: stream, arguments: after, last, most, limit)
  }

  /// Writes events to the stream that were not written before.
  ///
  /// - `forwarded`, `ttl`: the number of the latest event of the device that was written, and its TTL in s.
  /// - `entries`: entries of an outbox, in their order.
  ///
  /// Returns the error of Redis (empty: none), then the types of the events that were written. What Redis refuses is not
  /// written later.
  private static let publishScript = RedisScript(
    keys: ["stream", "forwarded"], arguments: ["ttl", "entries..."],
    """
    redis.call('EXPIRE', forwarded, ttl)
    local last, refusal, written = tonumber(redis.call('GET', forwarded) or '') or 0, '', {}
    for i = entries + 1, #ARGV do
      local number, event = string.match(ARGV[i], '^(%d+) (.*)$')
      if number and tonumber(number) > last then
        local reply = \(EventStream.append(to: "stream", "event"))
        if type(reply) == 'table' and reply.err then
          refusal = reply.err
        else
          written[#written + 1] = string.match(event, '^{"type":"([%w.]+)"') or ''
        end
        last = tonumber(number)
      end
    end
    redis.call('SET', forwarded, string.format('%.0f', last), 'EX', ttl)
    return {refusal, unpack(written)}
    """)

  static func publish(stream: String, forwarded: String, ttl: Int, entries: RedisList) -> RedisCall {
    publishScript.call(keys: stream, forwarded, arguments: ttl, entries)
  }

  /// Removes the events from an outbox that were written to the stream. The key stays: while a cluster moves its slot, a
  /// script may not access a key that it deleted.
  ///
  /// `number`: that of the last. Returns how many were removed.
  private static let trimScript = RedisScript(
    keys: ["outbox"], arguments: ["number"],
    """
    local entries, count = redis.call('LRANGE', outbox, 0, \(EventOutbox.maximumMoved)), 0
    for _, entry in ipairs(entries) do
      if (tonumber(string.match(entry, '^%d+')) or 0) > tonumber(number) then break end
      count = count + 1
    end
    if count == 0 then return 0 end
    if count < #entries then
      redis.call('LTRIM', outbox, count, -1)
    else
      redis.call('EXPIRE', outbox, \(EventOutbox.numberSeconds))
      redis.call('RPUSH', outbox, number)
      redis.call('LTRIM', outbox, -1, -1)
    end
    return count
    """)

  static func trim(outbox: String, number: String) -> RedisCall {
    trimScript.call(keys: outbox, arguments: number)
  }
}
