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

  /// Writes the record, then reply, notification records and events, unless a later attempt at the job has left its record. `nonce`
  /// is the job's, `queue` the queue that it is from. Passes false if another job has a record there, which stays.
  package func write(
    _ settlement: Settlement, nonce: String?, queue: String,
    _ completion: @escaping @EventLoop (Result<Bool, RedisError>) -> Void
  ) {
    guard let record = settlement.record, record.isKept else {
      return writeParts(of: settlement) { completion($0.map { true }) }
    }
    write(record, nonce, queue) { [self] result in
      switch result {
      case .failure(let error): completion(.failure(error))
      case .success(.null): completion(.success(true))
      case .success(let written):
        writeParts(of: settlement) { completion($0.map { written.integer != 0 }) }
      }
    }
  }

  private func writeParts(
    of settlement: Settlement, _ completion: @escaping @EventLoop (Result<Void, RedisError>) -> Void
  ) {
    let parts = parts(of: settlement)
    guard !parts.isEmpty else { return completion(.success(())) }
    EventLoop.gather(parts) { part, end in
      switch part {
      case .reply(let json, let list): reply(json, to: list, end)
      case .notification(let json, let reader): keep(json, for: reader) { end($0.map { _ in }) }
      case .events(let log, let events): log.write(events) { end($0.map { _ in }) }
      }
    } completion: { results in
      completion(results.firstFailure())
    }
  }

  /// What is written beside the record.
  private enum Part {
    case reply([UInt8], list: String)
    case notification([UInt8], NotificationReader)
    case events(EventLog, [Event])
  }

  private func parts(of settlement: Settlement) -> [Part] {
    var parts: [Part] = []
    if let record = settlement.record, let list = settlement.replyTo {
      parts.append(.reply(record.json, list: list))
    }
    for notification in settlement.notifications {
      parts += notification.readers.map { .notification(notification.json, $0) }
    }
    if let events, !settlement.events.isEmpty { parts.append(.events(events, settlement.events)) }
    return parts
  }

  private func write(
    _ record: Settlement.Record, _ nonce: String?, _ queue: String, _ completion: @escaping RedisClient.Completion
  ) {
    let (key, ttl) = (QueueKeys.result(record.jobID), record.timeToLive.milliseconds)
    // Most jobs have no record yet: a plain command costs a third of the script.
    let plain = RedisCommand("SET", key).with(record.json).with("PX").with(ttl).with("NX")
    connection.send(plain) { result in
      switch result {
      case .success(.null), .failure(.reply):
        // There is a record, or Redis is full.
        let call = QueueScripts.separateRecord(
          record: key, json: record.json, ttl: ttl, author: record.author ?? "", nonce: nonce ?? "", queue: queue)
        connection.send(call, completion)
      case .success: completion(.success(.integer(1)))
      case .failure: completion(result)
      }
    }
  }

  /// A list that Redis refuses to write to, for example a key of another type, gets no reply. The job still ends.
  private func reply(
    _ record: [UInt8], to list: String, _ completion: @escaping @EventLoop (Result<Void, RedisError>) -> Void
  ) {
    connection.send(QueueScripts.separateReply(list: list, json: record)) { result in
      if case .failure(let error) = result, !error.isRefusal { return completion(.failure(error)) }
      completion(.success(()))
    }
  }

  /// Keeps a notification record for a reader with a credential or a device. Passes the number of records written.
  func keep(
    _ record: [UInt8], for reader: NotificationReader,
    _ completion: @escaping @EventLoop (Result<Int, RedisError>) -> Void
  ) {
    let signs = [RedisCommand("HEXISTS", reader.credentials, reader.name), RedisCommand("EXISTS", reader.device)]
    EventLoop.gather(signs) { sign, end in
      connection.send(sign) { reply in
        end(Result { () throws(RedisError) in try reply.absentIfWrongType().integer == 1 })
      }
    } completion: { known in
      let failure = known.firstFailure()
      guard known.contains(.success(true)), case .success = failure else { return completion(failure.map { 0 }) }
      connection.send(QueueScripts.separateNotification(stream: reader.stream, json: record)) { result in
        completion(Result { () throws(RedisError) in try result.absentIfWrongType().count ?? 0 })
      }
    }
  }
}

extension Collection {
  /// The first failure, or success without one.
  func firstFailure<Value>() -> Result<Void, RedisError> where Element == Result<Value, RedisError> {
    for case .failure(let error) in self { return .failure(error) }
    return .success(())
  }
}

// Their first write takes no memory, so that a full server does not delay the jobs.
