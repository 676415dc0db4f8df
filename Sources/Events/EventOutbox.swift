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
        connection.run(EventOutbox.trim, keys: [outbox], arguments: [number]) { result in
          if case .failure = result { return completion(false) }
          completion(true)
        }
      }
    }
  }

  private func publish(_ entries: [[UInt8]], of token: String, _ completion: @escaping @EventLoop (Bool) -> Void) {
    connection.call(
      EventOutbox.publish, keys: [EventStream.key, EventStream.forwarded(token)],
      arguments: { command in
        command.append(EventOutbox.markSeconds)
        for entry in entries { command.append(entry) }
      }
    ) { [self] result in
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
  /// KEYS
  ///   1  the stream
  ///   2  the number of the latest event of the device that was written
  /// ARGV
  ///   1  the TTL of KEYS 2 in s
  ///   2… entries of an outbox, in their order
  /// Returns the error of Redis (empty: none), then the types of the events that were written. What Redis refuses is not
  /// written later.
  static let publish = RedisScript(
    """
    redis.call('EXPIRE', KEYS[2], ARGV[1])
    local last, refusal, written = tonumber(redis.call('GET', KEYS[2]) or '') or 0, '', {}
    for i = 2, #ARGV do
      local number, event = string.match(ARGV[i], '^(%d+) (.*)$')
      if number and tonumber(number) > last then
        local reply = \(EventStream.append(to: "KEYS[1]", "event"))
        if type(reply) == 'table' and reply.err then
          refusal = reply.err
        else
          written[#written + 1] = string.match(event, '^{"type":"([%w.]+)"') or ''
        end
        last = tonumber(number)
      end
    end
    redis.call('SET', KEYS[2], string.format('%.0f', last), 'EX', ARGV[1])
    return {refusal, unpack(written)}
    """)

  /// Removes the events from an outbox that were written to the stream. The key stays: while a cluster moves its slot, a
  /// script may not access a key that it deleted.
  ///
  /// KEYS
  ///   1  the outbox
  /// ARGV
  ///   1  the number of the last
  /// Returns how many were removed.
  static let trim = RedisScript(
    """
    local entries, count = redis.call('LRANGE', KEYS[1], 0, \(maximumMoved)), 0
    for _, entry in ipairs(entries) do
      if (tonumber(string.match(entry, '^%d+')) or 0) > tonumber(ARGV[1]) then break end
      count = count + 1
    end
    if count == 0 then return 0 end
    if count < #entries then
      redis.call('LTRIM', KEYS[1], count, -1)
    else
      redis.call('EXPIRE', KEYS[1], \(numberSeconds))
      redis.call('RPUSH', KEYS[1], ARGV[1])
      redis.call('LTRIM', KEYS[1], -1, -1)
    end
    return count
    """)
}
