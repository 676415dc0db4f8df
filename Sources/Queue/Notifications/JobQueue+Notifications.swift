import EventLoop
import Jobs
public import Redis

extension JobQueue {
  /// Readers that one script writes for, at most.
  private static let readerBatch = 100

  /// Writes a notification record for each of its readers without one of this job, so that it may be repeated.
  ///
  /// For the readers of a broadcast, which come page by page. Those of any other job belong in its ``Settlement``.
  public func keep(
    _ notification: Settlement.Notification, _ completion: @escaping @EventLoop (Result<Void, RedisError>) -> Void
  ) {
    guard !context.connection.isCluster else { return keepSeparately(notification, completion) }
    let starts = Array(stride(from: 0, to: notification.readers.count, by: JobQueue.readerBatch))
    EventLoop.gather(starts) { start, reply in
      let readers = notification.readers[start...].prefix(JobQueue.readerBatch)
      let call = QueueScripts.keepNotification(
        readers: RedisList(readers.flatMap(\.keys)), json: notification.json, names: RedisList(readers.map(\.name)))
      context.connection.send(call, reply)
    } completion: {
      completion($0.firstFailure())
    }
  }

  private func keepSeparately(
    _ notification: Settlement.Notification, _ completion: @escaping @EventLoop (Result<Void, RedisError>) -> Void
  ) {
    let settlement = Settlement(.acknowledge, notifications: [notification])
    SeparateRecords(connection: context.connection).write(settlement, nonce: nil) {
      completion($0.map { _ in })
    }
  }
}

extension QueueScripts {
  /// Writes a notification record for readers without one of the job among their latest: a broadcast reaches a reader
  /// once per device, and again after a crash.
  ///
  /// - `readers`: the stream, the credentials and the device of each reader.
  /// - `json`: the notification record.
  /// - `names`: the name of each reader.
  ///
  /// Returns the number of records written. An error if Redis has no room; some may be written then.
  static let keepNotification = RedisScript(
    keys: ["readers..."], arguments: ["json", "names..."],
    """
    \(keeping)
    local written = 0
    for place = 1, #ARGV - names do
      local key = readers + 3 * place - 2
      local isReadable = redis.pcall('HEXISTS', KEYS[key + 1], ARGV[names + place]) == 1
        or redis.pcall('EXISTS', KEYS[key + 2]) == 1
      if isReadable and not isKept(KEYS[key], json) then
        local added = keep(KEYS[key], json)
        if type(added) == 'table' and added.err and not string.find(added.err, '^WRONGTYPE') then return added end
        written = written + 1
      end
    end
    return written
    """)

  /// Lua: `keep(stream, json)` writes a notification record and returns what XADD returns; `isKept(stream, json)` tells whether one
  /// of the same job, with whose id the record begins, is among the latest.
  static let keeping = """
    local function keep(stream, json)
      local added = redis.pcall('XADD', stream, 'MAXLEN', '~', \(QueueLimits.maximumNotifications), '*', 'notification', json)
      redis.pcall('EXPIRE', stream, 2592000)
      return added
    end
    local function isKept(stream, json)
      local head = string.match(json, '^{"id":"[^"]*",') or json
      for _, entry in ipairs(redis.pcall('XREVRANGE', stream, '+', '-', 'COUNT', 20)) do
        if string.sub(entry[2][2] or '', 1, #head) == head then return true end
      end
      return false
    end
    """
}
