import EventLoop
import Redis

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
        connection.send(EventScripts.trim(outbox: outbox, number: number)) { result in
          if case .failure = result { return completion(false) }
          completion(true)
        }
      }
    }
  }

  private func publish(_ entries: [[UInt8]], of token: String, _ completion: @escaping @EventLoop (Bool) -> Void) {
    var call = EventScripts.publish(
      stream: EventStream.key, forwarded: EventStream.forwarded(token), ttl: EventOutbox.markSeconds,
      entries: RedisList())
    for entry in entries { call.append(entry) }
    connection.send(call) { [self] result in
      switch result {
      case .success(let value):
        let parts = value.array ?? []
        countWritten(parts.dropFirst().compactMap { $0.string.flatMap(EventType.init) })
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
  static let maximumMoved = 100
  /// An event that is found in an outbox after a longer time may be in the stream twice.
  static let markSeconds = 3600
  private static let outboxSeconds = 604_800
  /// The TTL of the number that stays in an outbox. It outlives the number of the latest event that was moved.
  static let numberSeconds = 2 * markSeconds

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
}
