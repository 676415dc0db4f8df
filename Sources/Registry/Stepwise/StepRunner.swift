import EventLoop
import Events
import Redis

/// Sends the steps of settlements to Redis. Settlements that run together share their round trips.
@EventLoop
struct StepRunner {
  private static let unexpected = RedisError.outcomeUnknown(
    "Redis sent an unexpected reply to a step of a registration")

  private let connection: RedisClient
  /// Nil if no events are written.
  let events: EventLog?

  init(connection: RedisClient, events: EventLog?) {
    self.connection = connection
    self.events = events
    connection.preload(StepScripts.all + (events == nil ? [] : [StepScripts.swapWithEvent] + EventOutbox.all))
  }

  /// Returns the outcomes in the order of the settlements.
  func run(_ settlements: [Settlement]) async -> [Result<Settlement.Outcome, RedisError>] {
    var settlements = settlements
    var results: [Result<Settlement.Outcome, RedisError>?] = Array(repeating: nil, count: settlements.count)
    var replies: [Int: [StepReply]] = [:]
    var open = Array(settlements.indices)
    while !open.isEmpty {
      var sent: [(index: Int, steps: [Step])] = []
      for index in open {
        switch settlements[index].next(replies[index] ?? []) {
        case .send(let steps): sent.append((index, steps))
        case .done(let outcome): results[index] = .success(outcome)
        }
      }
      let received = await exchange(sent.map { ($0.steps, settlements[$0.index]) })
      replies = [:]
      open = []
      for ((index, _), received) in zip(sent, received) {
        switch received {
        case .success(let parts):
          replies[index] = parts
          open.append(index)
        case .failure(let error): results[index] = .failure(error)
        }
      }
    }
    return results.map { $0 ?? .failure(StepRunner.unexpected) }
  }

  /// Sends steps of one settlement, and returns their replies, for tests.
  func carryOut(_ steps: [Step], of settlement: Settlement) async -> Result<[StepReply], RedisError> {
    await exchange([(steps, settlement)])[0]
  }

  /// Sends all steps, and returns their replies when the last has arrived.
  private func exchange(
    _ sent: [(steps: [Step], settlement: Settlement)]
  ) async -> [Result<[StepReply], RedisError>] {
    guard !sent.isEmpty else { return [] }
    return await withCheckedContinuation { continuation in
      let group = StepExchange(sent.map(\.steps.count)) { continuation.resume(returning: $0) }
      for (index, (steps, settlement)) in sent.enumerated() {
        for (number, step) in steps.enumerated() {
          send(step, of: settlement) { group.receive(index, number, decode($0, of: step)) }
        }
      }
    }
  }

  private func send(_ step: Step, of settlement: Settlement, _ completion: @escaping RedisClient.Completion) {
    let token = settlement.token
    let forced = settlement.isForced ? "1" : ""
    let journal = RegistryKeys.journal(shard: AudienceShard.shard(of: token))
    switch step {
    case .read: connection.run(StepScripts.view, keys: [RegistryKeys.token(token)], completion)
    case .check(let place): connection.send(RedisCommand("TYPE", place.key(of: token)), completion)
    case .isFull(let place, _): connection.send(RedisCommand("SCARD", place.key(of: token)), completion)
    case .open: connection.run(StepScripts.open, keys: [journal], arguments: [settlement.entry, forced], completion)
    case .close: connection.send(RedisCommand("ZREM", journal, settlement.entry), completion)
    case .join(let place, let limit):
      join(place.key(of: token), token, limit: limit, place, isForced: settlement.isForced, completion)
    case .leave(.user(let user), let above?):
      let arguments = [String(above), token]
      connection.run(StepScripts.leave, keys: [RegistryKeys.userTokens(user)], arguments: arguments, completion)
    case .leave(.user(let user), nil):
      connection.send(RedisCommand("SREM", RegistryKeys.userTokens(user), token), completion)
    case .leave(let place, _): connection.send(RedisCommand("ZREM", place.key(of: token), token), completion)
    case .publish:
      guard let events else { return EventLoop.atEndOfTurn { completion(.success(.integer(1))) } }
      events.forward(token, outbox: EventStream.outbox(of: RegistryKeys.token(token))) { isPublished in
        completion(.success(.integer(isPublished ? 1 : 0)))
      }
    case .swap(let expected, let metadata, let cause):
      let key = RegistryKeys.token(token)
      connection.call(
        cause == nil ? StepScripts.swap : StepScripts.swapWithEvent,
        keys: [key] + (cause == nil ? [] : [EventStream.outbox(of: key)]),
        arguments: { command in
          command.append(expected ?? [])
          command.append(metadata ?? [])
          command.append(Registry.metadataLifetime)
          command.append(forced)
          command.append(expected == nil ? "1" as String : "")
          guard let cause else { return }
          command.append(token)
          command.append(cause)
        }, completion)
    }
  }

  private func join(
    _ key: String, _ token: String, limit: Int?, _ place: DeviceSet, isForced: Bool,
    _ completion: @escaping RedisClient.Completion
  ) {
    switch place {
    case .user where limit == nil && !isForced: connection.send(RedisCommand("SADD", key, token), completion)
    case .user:
      let arguments = [token, limit.map { String($0) } ?? "", isForced ? "1" : ""]
      connection.run(StepScripts.join, keys: [key], arguments: arguments, completion)
    case .audience where !isForced: connection.send(RedisCommand("ZADD", key, "0", token), completion)
    case .audience: connection.run(StepScripts.joinAudience, keys: [key], arguments: [token], completion)
    }
  }

  private func decode(_ result: Result<RedisValue, RedisError>, of step: Step) -> Result<StepReply, RedisError> {
    switch result {
    case .success(let value): return decode(value, of: step)
    case .failure(let error):
      // The type is checked later, by a step that knows the key.
      if case .isFull = step, error.isWrongType { return .success(.flag(false)) }
      return .failure(error)
    }
  }

  private func decode(_ value: RedisValue, of step: Step) -> Result<StepReply, RedisError> {
    switch step {
    case .read:
      guard let device = StoredDevice(value) else { return .failure(StepRunner.unexpected) }
      return .success(.device(device))
    case .check(let place): return .success(.flag(["none", place.type].contains(value.string)))
    case .isFull(_, let limit): return .success(.flag(value.integer ?? 0 >= limit))
    case .open, .close: return .success(.flag(true))
    // SADD and ZADD return 0 for an entry that is in the set already.
    case .join(_, let limit): return .success(.flag(limit == nil || value.integer == 1))
    case .leave, .publish: return .success(.flag(value.integer == 1))
    case .swap(let expected, _, _):
      guard let parts = value.array, parts.count == 2, let found = parts[1].bytes else {
        return .failure(StepRunner.unexpected)
      }
      guard parts[0].integer == 1 else { return .success(.swapped(nil)) }
      let metadata = DeviceMetadata(parsing: expected ?? found)
      return .success(.swapped(StoredDevice(bytes: found, metadata: metadata, exists: !found.isEmpty)))
    }
  }
}

/// Collects the replies to the steps of several settlements.
@EventLoop
private final class StepExchange {
  private var replies: [[StepReply?]]
  private var errors: [RedisError?]
  private var open: Int
  private let completion: @EventLoop ([Result<[StepReply], RedisError>]) -> Void

  init(_ counts: [Int], completion: @escaping @EventLoop ([Result<[StepReply], RedisError>]) -> Void) {
    replies = counts.map { Array(repeating: nil, count: $0) }
    errors = Array(repeating: nil, count: counts.count)
    open = counts.reduce(0, +)
    self.completion = completion
  }

  func receive(_ index: Int, _ number: Int, _ reply: Result<StepReply, RedisError>) {
    switch reply {
    case .success(let reply): replies[index][number] = reply
    case .failure(let error): errors[index] = errors[index] ?? error
    }
    open -= 1
    guard open == 0 else { return }
    completion(
      zip(replies, errors).map { replies, error in error.map(Result.failure) ?? .success(replies.compactMap { $0 }) })
  }
}
