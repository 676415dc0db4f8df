import EventLoop
package import Redis

/// The lengths of a queue's lists.
package struct QueueNumbers: Sendable {
  package let keys: QueueKeys
  package let waiting: Int64
  /// Jobs in flight by the names of their workers, also of those without a heartbeat.
  package private(set) var jobsInFlight: [String: Int64] = [:]
  package let retry: Int64
  package let scheduled: Int64
  package let dead: Int64
  /// The value of ``QueueKeys/control``; nil if nothing is asked.
  package let control: [UInt8]?

  package var inFlight: Int64 { jobsInFlight.values.reduce(0, +) }

  /// Reads the numbers of queues, in their order, and the reports of their living workers, JSON of ``WorkerReport`` by name, in
  /// two exchanges. A key of another type counts as empty. Throws if a length is not a number.
  @EventLoop
  package static func read(
    _ queues: [QueueKeys], from connection: RedisClient
  ) async throws(RedisError) -> (queues: [QueueNumbers], reports: [String: [UInt8]]) {
    let commands = queues.map { keys in
      [
        RedisCommand("LLEN", keys.queue), RedisCommand("ZCARD", keys.retry), RedisCommand("ZCARD", keys.scheduled),
        RedisCommand("ZCARD", keys.dead), keys.namesOfWorkers, RedisCommand("GET", keys.control),
      ]
    }
    var answers = await connection.exchange(commands.flatMap(\.self))[...]
    var found: [QueueNumbers] = []
    var members: [(keys: QueueKeys, names: [String])] = []
    for (keys, commands) in zip(queues, commands) {
      var values: [RedisValue] = []
      for answer in answers.prefix(commands.count) { values.append(try answer.absentIfWrongType()) }
      answers = answers.dropFirst(commands.count)
      found.append(try QueueNumbers(keys, values))
      members.append((keys, (values[4].array ?? []).compactMap(\.string)))
    }
    let inflight = members.flatMap { keys, names in names.map { RedisCommand("LLEN", keys.inflight($0)) } }
    let (lengths, reports) = try await HeartbeatReader(connection: connection).read(members, with: inflight)
    var rest = lengths[...]
    for (index, (keys, names)) in members.enumerated() {
      for (name, length) in zip(names, rest) {
        found[index].jobsInFlight[name] = try length.absentIfWrongType().length(of: keys.queue)
      }
      rest = rest.dropFirst(names.count)
    }
    return (found, reports)
  }

  /// `values` are the replies to the first commands, in their order.
  private init(_ keys: QueueKeys, _ values: [RedisValue]) throws(RedisError) {
    self.keys = keys
    waiting = try values[0].length(of: keys.queue)
    retry = try values[1].length(of: keys.queue)
    scheduled = try values[2].length(of: keys.queue)
    dead = try values[3].length(of: keys.queue)
    control = values[5].contents
  }
}

extension RedisValue {
  /// The length that Redis replied with; 0 for no reply.
  fileprivate func length(of queue: String) throws(RedisError) -> Int64 {
    if isNull { return 0 }
    guard let count else {
      throw .outcomeUnknown("the numbers of \(queue) cannot be read: Redis sent an unexpected reply")
    }
    return Int64(count)
  }
}
