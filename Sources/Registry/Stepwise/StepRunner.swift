import EventLoop
import Events
import PushModel
import Redis

/// Sends the steps of changes to Redis. Those of one token run one after the other, and commands of the same turn of
/// the event loop share their round trip.
@EventLoop
final class StepRunner {
  typealias Completion = @EventLoop (Result<StepwiseChange.Outcome, RedisError>) -> Void

  private static let unexpected = RedisError.outcomeUnknown(
    "Redis sent an unexpected reply to a step of a registration")

  private let connection: RedisClient
  /// Nil if no events are written.
  private let events: EventLog?
  /// Of tokens.
  private let turns = KeyedMutex<String>()

  init(connection: RedisClient, events: EventLog?) {
    self.connection = connection
    self.events = events
    connection.preload(RegistryScripts.stepwise + (events == nil ? [] : EventScripts.outbox))
  }

  /// Returns the outcomes in the order of the changes.
  func run(_ changes: [StepwiseChange]) async -> [Result<StepwiseChange.Outcome, RedisError>] {
    await EventLoop.gather(changes) { change, end in
      turns.take(change.token) { [self] in
        advance(change, []) { [self] result in
          turns.leave(change.token)
          end(result)
        }
      }
    }
  }

  private func advance(_ change: StepwiseChange, _ replies: [StepReply], _ completion: @escaping Completion) {
    var change = change
    switch change.next(replies) {
    case .done(let outcome): completion(.success(outcome))
    case .send(let steps):
      carryOut(steps, of: change) { [self] result in
        switch result {
        case .success(let replies): advance(change, replies, completion)
        case .failure(let error): completion(.failure(error))
        }
      }
    }
  }

  /// Sends steps of one change, and passes their replies when the last has arrived.
  func carryOut(
    _ steps: [Step], of change: StepwiseChange,
    _ completion: @escaping @EventLoop (Result<[StepReply], RedisError>) -> Void
  ) {
    EventLoop.gather(steps) { step, reply in
      send(step, of: change) { [self] in reply(decode($0, of: step, change.token)) }
    } completion: { replies in
      completion(Result { () throws(RedisError) in try replies.map { reply throws(RedisError) in try reply.get() } })
    }
  }

  private func send(_ step: Step, of change: StepwiseChange, _ completion: @escaping RedisClient.Completion) {
    let token = change.token
    let forced = change.isForced ? "1" : ""
    let journal = RegistryKeys.journal(shard: AudienceShard.shard(of: token))
    switch step {
    case .read: connection.send(RedisCommand("GET", RegistryKeys.token(entry: token)), completion)
    case .check(let set): connection.send(RedisCommand("TYPE", set.key(of: token)), completion)
    case .isFull(let set, _): connection.send(RedisCommand("SCARD", set.key(of: token)), completion)
    case .open:
      connection.send(RegistryScripts.open(journal: journal, entry: change.entry, isForced: forced), completion)
    case .close: connection.send(RedisCommand("ZREM", journal, change.entry), completion)
    case .join(let set, let limit):
      join(set.key(of: token), change, limit: limit, set, completion)
    case .leave(.user(let user), let above?):
      connection.send(
        RegistryScripts.leave(set: RegistryKeys.userTokens(user), most: above, token: token), completion)
    case .leave(let set, _): connection.send(set.removal(from: set.key(of: token)).with(token), completion)
    case .publish:
      guard let events else { return EventLoop.atEndOfTurn { completion(.success(.integer(1))) } }
      events.forward(token, outbox: EventStream.outbox(of: RegistryKeys.token(entry: token))) { isPublished in
        completion(.success(.integer(isPublished ? 1 : 0)))
      }
    case .swap(let expected, let metadata, let lifetime, let event):
      let key = RegistryKeys.token(entry: token)
      connection.send(
        RegistryScripts.swap(
          metadata: key, outbox: event == nil ? key : EventStream.outbox(of: key), expected: expected, new: metadata,
          ttl: lifetime.text, isForced: forced, event: event?.json ?? []), completion)
    }
  }

  private func join(
    _ key: String, _ change: StepwiseChange, limit: Int?, _ set: DeviceSet,
    _ completion: @escaping RedisClient.Completion
  ) {
    let (token, isForced) = (change.token, change.isForced)
    switch set {
    case .user where limit == nil && !isForced, .userForm where !isForced:
      connection.send(RedisCommand("SADD", key, token), completion)
    case .user, .userForm:
      connection.send(
        RegistryScripts.join(
          set: key, token: token, limit: limit.map { String($0) } ?? "", isForced: isForced ? "1" : ""), completion)
    case .audience where !isForced: connection.send(RedisCommand("ZADD", key, "0", token), completion)
    case .audience: connection.send(RegistryScripts.joinAudience(shard: key, token: token), completion)
    case .activity:
      connection.send(
        RegistryScripts.joinActivity(
          tokens: key, token: token, metadata: change.joiningMetadata, ttl: DeviceKind.activity.lifetime),
        completion)
    }
  }

  private func decode(
    _ result: Result<RedisValue, RedisError>, of step: Step, _ token: String
  ) -> Result<StepReply, RedisError> {
    switch (step, result) {
    // The type is checked later, by a step that knows the key.
    case (.isFull, .failure(let error)) where error.isWrongType: return .success(.flag(false))
    case (.read, .failure(let error)) where error.isWrongType: return .success(.device(StoredDevice(token, [])))
    case (_, .failure(let error)): return .failure(error)
    case (_, .success(let value)): return decode(value, of: step, token)
    }
  }

  private func decode(_ value: RedisValue, of step: Step, _ token: String) -> Result<StepReply, RedisError> {
    switch step {
    case .read: return .success(.device(StoredDevice(token, value.bytes ?? [])))
    case .check(let set): return .success(.flag(["none", set.type].contains(value.string)))
    case .isFull(_, let limit): return .success(.flag(value.integer ?? 0 >= limit))
    case .open, .close: return .success(.flag(true))
    // SADD and ZADD return 0 for an entry that is in the set already.
    case .join(_, let limit): return .success(.flag(limit == nil || value.integer == 1))
    case .leave, .publish: return .success(.flag(value.integer == 1))
    case .swap:
      guard let parts = value.array, parts.count == 2, let found = parts[1].bytes else {
        return .failure(StepRunner.unexpected)
      }
      return .success(parts[0].integer == 1 ? .flag(true) : .device(StoredDevice(token, found)))
    }
  }
}
