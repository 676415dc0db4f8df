import EventLoop
public import Redis

// On a cluster, an event is written together with the change, to an outbox in the slot of the device. It is moved to the
// stream later, by any number of processes. Each event has a number, and the latest number that was moved is stored: so the
// stream has the events of a device in order, and each once. The last number stays in the outbox. So numbers always
// increase, even if the slot moves to a server whose clock is behind.
extension EventLog {
  /// Moves the events of a device to the stream. Passes false if they must be moved later.
  public func forward(_ token: String, outbox: String, _ completion: @escaping @EventLoop (Bool) -> Void) {
    connection.send(RedisCommand("LRANGE", outbox, "0", "\(EventOutbox.maximumMoved - 1)")) { [self] result in
      guard case .success(let value) = result else { return completion(false) }
      let entries = (value.array ?? []).compactMap(\.bytes).filter { $0.contains(UInt8(ascii: " ")) }
      guard let last = entries.last else { return completion(true) }
      publish(entries, of: token) { [self] isPublished in
        guard isPublished else { return completion(false) }
        let number = String(decoding: last.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)
        connection.send(EventOutbox.trim(outbox: outbox, number: number)) { result in
          if case .failure = result { return completion(false) }
          completion(true)
        }
      }
    }
  }

  private func publish(_ entries: [[UInt8]], of token: String, _ completion: @escaping @EventLoop (Bool) -> Void) {
    var call = EventOutbox.publish(
      stream: EventStream.key, forwarded: EventStream.forwarded(token), ttl: EventOutbox.markSeconds,
      entries: RedisList())
    for entry in entries { call.append(entry) }
    connection.send(call) { [self] result in
      switch result {
      case .success(let value):
        let parts = value.array ?? []
        noteWritten(parts.dropFirst().compactMap { $0.string.flatMap(EventType.init) })
        if let refusal = parts.first?.string, !refusal.isEmpty { refuse(1, refusal) }
        completion(true)
      case .failure(let error):
        // Another attempt would be refused, too.
        let isRefused = error.isRefusal
        if isRefused { refuse(entries.count, "\(error)") }
        completion(isRefused)
      }
    }
  }
}

/// The scripts of outboxes.
public enum EventOutbox {
  public static let all = [publish, trim]

  static let maximumMoved = 100
  /// An event that is found in an outbox after a longer time may be in the stream twice.
  static let markSeconds = 3600
  private static let outboxSeconds = 604_800
  /// The TTL of the number that stays in an outbox. It outlives the number of the latest event that was moved.
  private static let numberSeconds = 2 * markSeconds

  /// Lua: appends an event to the outbox `key`, both expressions, with a number that is greater than the last one's.
  package static func append(to key: String, _ event: String) -> String {
    """
    do
      local time, last = redis.call('TIME'), redis.pcall('LINDEX', \(key), -1)
      local number = time[1] * 1000000 + time[2]
      last = type(last) == 'string' and tonumber(string.match(last, '^%d+')) or 0
      number = string.format('%.0f', math.max(number, last + 1))
      redis.pcall('RPUSH', \(key), number .. ' ' .. \(event))
      redis.pcall('LTRIM', \(key), -\(maximumMoved), -1)
      redis.pcall('EXPIRE', \(key), \(outboxSeconds))
    end
    """
  }

  /// Writes events to the stream that were not written before.
  ///
  /// - `forwarded`, `ttl`: the number of the latest event of the device that was written, and its TTL in s.
  /// - `entries`: entries of an outbox, in their order.
  ///
  /// Returns the error of Redis (empty: none), then the types of the events that were written. What Redis refuses is not
  /// written later.
  static let publish = RedisScript(
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

  /// Removes the events from an outbox that were written to the stream. The key stays: while a cluster moves its slot, a
  /// script may not access a key that it deleted.
  ///
  /// `number`: that of the last. Returns how many were removed.
  static let trim = RedisScript(
    keys: ["outbox"], arguments: ["number"],
    """
    local entries, count = redis.call('LRANGE', outbox, 0, \(maximumMoved)), 0
    for _, entry in ipairs(entries) do
      if (tonumber(string.match(entry, '^%d+')) or 0) > tonumber(number) then break end
      count = count + 1
    end
    if count == 0 then return 0 end
    if count < #entries then
      redis.call('LTRIM', outbox, count, -1)
    else
      redis.call('EXPIRE', outbox, \(numberSeconds))
      redis.call('RPUSH', outbox, number)
      redis.call('LTRIM', outbox, -1, -1)
    end
    return count
    """)
}
