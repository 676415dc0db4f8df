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
    _ notification: Settlement.Notification, of jobID: String,
    _ completion: @escaping @EventLoop (Result<Void, RedisError>) -> Void
  ) {
    guard !context.connection.isCluster else { return keepSeparately(notification, completion) }
    let starts = stride(from: 0, to: notification.readers.count, by: JobQueue.readerBatch)
    var left = starts.underestimatedCount
    var failure: RedisError?
    for start in starts {
      let readers = notification.readers[start...].prefix(JobQueue.readerBatch)
      let call = QueueScripts.keepNotification(
        readers: RedisList(readers.flatMap(\.keys)), json: notification.json, id: jobID,
        names: RedisList(readers.map(\.name)))
      context.connection.send(call) { result in
        if case .failure(let error) = result { failure = error }
        left -= 1
        if left == 0 { completion(failure.map { .failure($0) } ?? .success(())) }
      }
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
  /// - `json`, `id`: the notification record, and the job's id.
  /// - `names`: the name of each reader.
  ///
  /// Returns the number of records written. An error if Redis has no room; some may be written then.
  static let keepNotification = RedisScript(
    keys: ["readers..."], arguments: ["json", "id", "names..."],
    """
    local head = '{"id":"' .. id .. '",'
    local function isKept(stream)
      local latest = redis.pcall('XREVRANGE', stream, '+', '-', 'COUNT', 20)
      for _, entry in ipairs(latest) do
        if string.sub(entry[2][2] or '', 1, #head) == head then return true end
      end
      return false
    end
    local written = 0
    for place = 1, #ARGV - names do
      local key = readers + 3 * place - 2
      local isReadable = redis.pcall('HEXISTS', KEYS[key + 1], ARGV[names + place]) == 1
        or redis.pcall('EXISTS', KEYS[key + 2]) == 1
      if isReadable and not isKept(KEYS[key]) then
        local added = redis.pcall('XADD', KEYS[key], 'MAXLEN', '~', 1000, '*', 'notification', json)
        if type(added) == 'table' and added.err and not string.find(added.err, '^WRONGTYPE') then return added end
        redis.pcall('EXPIRE', KEYS[key], 2592000)
        written = written + 1
      end
    end
    return written
    """)
}
