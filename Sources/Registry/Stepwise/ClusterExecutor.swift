import EventLoop
import Events
import PushModel
import Redis
import Telemetry

/// Changes devices on a cluster, where their keys are in several hash slots: in steps, each with the keys of one slot.
/// See ``StepwiseChange``.
@EventLoop
final class ClusterExecutor: DeviceExecutor {
  let reader: DeviceReader
  let maximumDevices: Int
  let steps: StepRunner
  /// Nil if no events are written.
  private let events: EventLog?
  private let log: Log
  /// When this process last looked for changes that others had begun.
  private var repairedAt: ContinuousClock.Instant?

  init(connection: RedisClient, maximumDevices: Int, events: EventLog?, log: Log) {
    reader = DeviceReader(connection: connection)
    self.maximumDevices = maximumDevices
    self.events = events
    self.log = log
    steps = StepRunner(connection: connection, events: events)
  }

  func run(batch: [TokenOperation]) async throws(RedisError) -> [ChangeOutcome] {
    try await carryOut(batch).map(\.device)
  }

  /// Throws the first error of Redis after all of the batch have ended.
  private func carryOut(_ batch: [TokenOperation]) async throws(RedisError) -> [StepwiseChange.Outcome] {
    repairIfDue()
    let results = await steps.run(batch.map { change($0.token, $0.operation) })
    var outcomes: [StepwiseChange.Outcome] = []
    for ((_, operation), result) in zip(batch, results) {
      let outcome = try result.get()
      if case .clean(let set) = operation { announce(outcome.device, leftFrom: set, operation) }
      outcomes.append(outcome)
    }
    return outcomes
  }

  private func change(_ token: String, _ operation: DeviceOperation) -> StepwiseChange {
    StepwiseChange(
      token, operation, maximumDevices: maximumDevices, makesEvents: events != nil,
      nonce: UInt64.random(in: .min ... .max))
  }

  /// Writes the event of a token that was removed from a user's set: its metadata, with which others are written, stays.
  private func announce(_ outcome: ChangeOutcome, leftFrom set: DeviceSet, _ operation: DeviceOperation) {
    guard let events, outcome.left.contains(set) else { return }
    let event = operation.decide(outcome.before).report?.event(at: Clock.unixMilliseconds)
    events.append(event.map { [$0] } ?? [])
  }

  // MARK: - Devices that need room

  func register(
    _ registration: Registration, within scope: AppScope?
  ) async throws(RedisError) -> (outcome: ChangeOutcome, removed: Int) {
    let operation = DeviceOperation.register(registration).within(scope)
    let (token, user) = (registration.token.text, registration.username)
    let stored = try await reader.device(token)
    if let phone = stored.phone(leavingFor: user), !operation.decide(stored).isForeign {
      try await bringAlong(phone, of: stored, to: user, within: scope)
    }
    var registration = registration
    let phone = try await phoneTokens(replacedBy: operation, of: user, over: stored)
    if let phone { registration.replaced = phone.marks }
    let marked = DeviceOperation.register(registration).within(scope)
    guard let outcome = try await carryOut([(token, marked)]).first else { throw Registry.conflict }
    if let error = outcome.device.error { throw error }
    guard outcome.device.end != .foreign else { return (outcome.device, 0) }
    if let phone, !phone.replaced.isEmpty {
      _ = try await evict(phone.replaced, from: user, because: RemovalCause.newToken)
    }
    // A device that the user has in this app and kind already needs no room.
    let (before, device) = (outcome.device.before, outcome.device.after)
    guard outcome.isOverfull, before.owner != user || before.limitGroup != device.limitGroup else {
      return (outcome.device, 0)
    }
    return (outcome.device, try await makeRoom(in: user, for: token, of: device.limitGroup))
  }

  /// Those that are known before the new token is: of two that are registered at once, neither removes the other. They leave
  /// after it has joined: after a crash the phone has both. Nil if the token is not new at its phone.
  private func phoneTokens(
    replacedBy operation: DeviceOperation, of user: Username, over stored: StoredDevice
  ) async throws(RedisError) -> PhoneTokens? {
    guard let joining = operation.decide(stored).newAtPhone(over: stored) else { return nil }
    return PhoneTokens(joining: joining, among: try await reader.members(of: user))
  }

  /// The new token gets its metadata before the current one is removed: after a crash the user has both.
  func replace(
    token current: String, with new: String, of user: Username, within scope: AppScope?, now: Int64
  ) async throws(RedisError) -> (outcome: ChangeOutcome?, removed: Int) {
    let unregistration = DeviceOperation.unregister(user, reason: RemovalCause.replaced).within(scope)
    let stored = try await reader.device(current)
    guard stored.owner == user, !unregistration.decide(stored).isForeign, let metadata = stored.exchanged(at: now)
    else { return (nil, 0) }
    let taken = try await complete(.take(metadata).within(scope), on: new)
    guard taken.end != .foreign else { return (taken, 0) }
    let removed = try await complete(unregistration, on: current)
    guard removed.end == .written else {
      // Another exchange of the current token was faster.
      _ = try await complete(.giveBack(taken.before.metadata, written: taken.after.bytes), on: new)
      return (nil, 0)
    }
    // The new device takes the place of the one that it replaces, if that was in the set.
    if removed.left.contains(.user(user)) { return (taken, 0) }
    return (taken, try await makeRoom(in: user, for: new, of: taken.after.limitGroup))
  }

  /// Removes the devices that must make room for one that was registered. Returns how many were removed, at most
  /// ``Registry/maximumBatch``.
  private func makeRoom(in user: Username, for token: String, of limitGroup: DeviceLimitGroup) async throws(RedisError)
    -> Int
  {
    var gone = 0
    for _ in 0..<Registry.maximumConflicts {
      let room = try await room(in: user, for: limitGroup, except: [token], hasJoined: true)
      let leaving = room.leaving.prefix(Registry.maximumBatch - gone)
      guard !leaving.isEmpty else { break }
      // While others remove devices, too, none leaves because of what was read before.
      let removed = try await evict(leaving, from: user, keeping: room.members.count - leaving.count)
      gone += removed
      if removed == leaving.count { break }
    }
    return gone
  }

  // MARK: - Repair

  /// Seconds after which an entry of a journal belongs to a process that has ended.
  private static let overdueSeconds = 60

  /// How often a process looks for such entries.
  private static let repairInterval = Duration.seconds(60)

  /// Completes the changes of processes that ended, in the background. The next operation after an interval does it
  /// again.
  private func repairIfDue() {
    let now = ContinuousClock.now
    if let repairedAt, now - repairedAt < ClusterExecutor.repairInterval { return }
    repairedAt = now
    EventLoop.start { [self] in
      do throws(RedisError) {
        let count = try await repair(after: ClusterExecutor.overdueSeconds)
        if count > 0 {
          // Operator: On a cluster, a process died or a server failed in the middle of a registration. Nothing
          // is lost.
          log.info("completed changes to devices that other processes had begun", ["devices": .init(count)])
        }
      } catch {
        log.debug("changes to devices could not be completed", ["error": .init("\(error)")])
      }
    }
  }

  /// Adds the tokens of journal entries that are older than `seconds` to the sets that their metadata names. Returns
  /// their number.
  func repair(after seconds: Int) async throws(RedisError) -> Int {
    let connection = reader.connection
    var count = 0
    for shard in 0..<AudienceShard.count {
      let journal = RegistryKeys.journal(shard: shard)
      let overdue = RegistryScripts.overdue(journal: journal, seconds: seconds, most: Registry.maximumBatch)
      let entries = try await connection.send(overdue).array ?? []
      let tokens = entries.compactMap { $0.string?.prefix { $0 != " " } }.map { String($0) }
      guard !tokens.isEmpty else { continue }
      for result in await steps.run(tokens.map { change($0, .repair) }) {
        guard try result.get().isPublished else { throw Registry.conflict }
      }
      var remove = RedisCommand("ZREM", journal)
      for entry in entries.compactMap(\.bytes) { remove.append(entry) }
      _ = try await connection.send(remove)
      count += tokens.count
    }
    return count
  }
}
