package import EventLoop
package import Events
package import Redis

/// Writes what belongs to a settlement and, in a cluster, is in another hash slot than the queue. Also the records of jobs
/// that no worker holds.
///
/// It is written before the job leaves the in-flight list, so that a crash in between loses no record. The job then runs
/// again, and so each step may be repeated.
@EventLoop
package struct SeparateRecords {
  private let connection: RedisClient
  /// Nil if no events are written.
  private let events: EventLog?

  package init(connection: RedisClient, events: EventLog? = nil) {
    self.connection = connection
    self.events = events
  }

  /// Writes record, reply and notification records. `nonce` is the job's. Passes false if another job has a record there,
  /// which stays.
  package func write(
    _ settlement: Settlement, nonce: String?, _ completion: @escaping @EventLoop (Result<Bool, RedisError>) -> Void
  ) {
    let steps = RecordSteps(completion)
    if let record = settlement.record {
      steps.begin()
      write(record, nonce) { steps.end($0.map { $0.integer != 0 }) }
      if let list = settlement.replyTo {
        steps.begin()
        reply(record.json, to: list) { steps.end($0) }
      }
    }
    for notification in settlement.notifications {
      for reader in notification.readers {
        steps.begin()
        keep(notification.json, for: reader) { steps.end($0.map { _ in true }) }
      }
    }
    if let events, !settlement.events.isEmpty {
      steps.begin()
      events.write(settlement.events) { steps.end($0.map { true }) }
    }
    steps.seal()
  }

  private func write(
    _ record: Settlement.Record, _ nonce: String?, _ completion: @escaping RedisClient.Completion
  ) {
    let call = QueueScripts.separateRecord(
      record: QueueKeys.result(record.jobID), json: record.json, ttl: record.timeToLive.milliseconds,
      author: record.author ?? "", nonce: nonce ?? "")
    connection.send(call, completion)
  }

  /// A list that Redis refuses to write to, for example a key of another type, gets no reply. The job still ends.
  private func reply(
    _ record: [UInt8], to list: String, _ completion: @escaping @EventLoop (Result<Bool, RedisError>) -> Void
  ) {
    connection.send(QueueScripts.separateReply(list: list, json: record)) { result in
      if case .failure(let error) = result, !error.isRefusal { return completion(.failure(error)) }
      completion(.success(true))
    }
  }

  /// Keeps a notification record for a reader with a credential or a device. Passes the number of records written.
  func keep(
    _ record: [UInt8], for reader: NotificationReader,
    _ completion: @escaping @EventLoop (Result<Int, RedisError>) -> Void
  ) {
    let finding = RecordSteps { found in
      guard case .success(false) = found else { return completion(found.map { _ in 0 }) }
      connection.send(QueueScripts.separateNotification(stream: reader.stream, json: record)) { result in
        if case .failure(let error) = result, error.isWrongType { return completion(.success(0)) }
        completion(result.map { $0.count ?? 0 })
      }
    }
    // False ends the search: the reader is known.
    for command in [RedisCommand("HEXISTS", reader.credentials, reader.name), RedisCommand("EXISTS", reader.device)] {
      finding.begin()
      connection.send(command) { result in
        if case .failure(let error) = result, error.isWrongType { return finding.end(.success(true)) }
        finding.end(result.map { $0.integer != 1 })
      }
    }
    finding.seal()
  }
}

/// Steps that run at the same time: passes the first failure, or whether all were successful with true.
@EventLoop
private final class RecordSteps {
  private var left = 1
  private var isTrue = true
  private var failure: RedisError?
  private let completion: @EventLoop (Result<Bool, RedisError>) -> Void

  init(_ completion: @escaping @EventLoop (Result<Bool, RedisError>) -> Void) {
    self.completion = completion
  }

  func begin() { left += 1 }

  func end(_ result: Result<Bool, RedisError>) {
    switch result {
    case .success(let value): isTrue = isTrue && value
    case .failure(let error): failure = failure ?? error
    }
    seal()
  }

  /// No step begins after this.
  func seal() {
    left -= 1
    if left == 0 { completion(failure.map { .failure($0) } ?? .success(isTrue)) }
  }
}

// Their first write takes no memory, so that a full server does not delay the jobs.
extension QueueScripts {
  static let separate = [separateReply, separateNotification]

  /// Writes the record of a job before the job leaves the in-flight list. `author`: that of the record before.
  ///
  /// Returns 1, or 0 if another job has a record there.
  static let separateRecord = RedisScript(
    keys: ["record"], arguments: ["json", "ttl", "author", "nonce"],
    """
    \(writing)
    redis.call('PEXPIRE', record, ttl)
    return write(record, json, ttl, author, nonce) and 1 or 0
    """)

  /// Puts a record on the list that its producer has named, unless it is there already. A list that this creates expires
  /// after 1 h. Returns 1, or 0 if the record was there.
  static let separateReply = RedisScript(
    keys: ["list"], arguments: ["json"],
    """
    redis.call('LTRIM', list, 0, -1)
    if redis.call('LINDEX', list, 0) == json then return 0 end
    if redis.call('LPUSH', list, json) == 1 then redis.call('EXPIRE', list, 3600) end
    return 1
    """)

  /// Writes a notification record, JSON that begins with the job's id, unless one of the job is among the latest.
  ///
  /// Returns the number of records written.
  static let separateNotification = RedisScript(
    keys: ["stream"], arguments: ["json"],
    """
    local head = string.match(json, '^{"id":"[^"]*",') or json
    redis.call('EXPIRE', stream, 2592000)
    for _, entry in ipairs(redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 20)) do
      if string.sub(entry[2][2] or '', 1, #head) == head then return 0 end
    end
    redis.call('XADD', stream, 'MAXLEN', '~', 1000, '*', 'notification', json)
    redis.call('EXPIRE', stream, 2592000)
    return 1
    """)
}
