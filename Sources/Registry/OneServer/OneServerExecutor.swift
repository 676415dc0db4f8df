import EventLoop
import Events
import PushModel
import Redis

/// Changes devices on one server: reads what is stored, decides, and applies the decision with its event in one atomic
/// step, if what was read is still stored. Otherwise it decides again.
///
/// A change fails only because another has succeeded. After ``Registry/maximumConflicts`` of these an operation ends with
/// ``ChangeOutcome/End/conflict``.
@EventLoop
final class OneServerExecutor: DeviceExecutor {
  let reader: DeviceReader
  let maximumDevices: Int
  private let devices: TransactionSender
  private let makesEvents: Bool
  /// Of users whose devices make room.
  let turns = KeyedMutex<Username>()
  private var known = KnownDevices()

  init(connection: RedisClient, maximumDevices: Int, events: EventLog?) {
    reader = DeviceReader(connection: connection)
    self.maximumDevices = maximumDevices
    devices = TransactionSender(connection, events: events)
    makesEvents = events != nil
  }

  func run(batch operations: [TokenOperation]) async throws(RedisError) -> [ChangeOutcome] {
    let stored = try await reader.devices(operations.map(\.token))
    var outcomes = stored.map { ChangeOutcome(before: $0) }
    var open = Array(stored.indices)
    for _ in 0..<Registry.maximumConflicts where !open.isEmpty {
      var sent: [(index: Int, step: DeviceStep)] = []
      for index in open {
        let device = latest(outcomes[index].before)
        let change = operations[index].operation.decide(device)
        outcomes[index] = ChangeOutcome(before: device)
        // What is expected of a change under way is compared, too.
        if change == .nothing, known.changing(device.token) == nil { continue }
        sent.append((index, begin([DecidedChange(device, change)], limit: maximumDevices)))
      }
      open = []
      for ((index, step), reply) in zip(sent, await send(sent.map(\.step))) {
        outcomes[index] = step.outcome(try reply.get())
        if outcomes[index].end == .conflict { open.append(index) }
      }
    }
    return outcomes
  }

  // MARK: - Steps

  /// Returns what is stored about a token, or was when this process knew it last.
  func device(_ token: String) async throws(RedisError) -> StoredDevice {
    if let device = known.device(token) { return device }
    return try await reader.device(token)
  }

  /// The device as it will be after the changes that are under way.
  func latest(_ device: StoredDevice) -> StoredDevice { known.changing(device.token) ?? device }

  /// Begins changes that are applied together. They must be sent before any other is begun that depends on them.
  ///
  /// `limit` is how many devices a user may have who gets one more; nil for any number. `compared` is what was read of a
  /// user's devices.
  func begin(
    _ changes: [DecidedChange], limit: Int?, compared: (user: Username, room: DeviceRoom)? = nil
  ) -> DeviceStep {
    let now = makesEvents ? Clock.unixMilliseconds : 0
    var transaction = Transaction(
      changes.map { decided in
        var change = Transaction.Change(decided)
        if decided.change.newOwner != nil { change.limit = limit }
        if makesEvents, let event = decided.change.report?.event(at: now) { change.events = [event] }
        return change
      })
    if let (user, room) = compared { transaction.compare(room, of: user) }
    let rounds = changes.map { known.begin($0.result) }
    return DeviceStep(changes: changes, transaction: transaction, rounds: rounds)
  }

  /// Applies steps, and notes what they have found.
  func send(_ steps: [DeviceStep]) async -> [Result<Transaction.Reply, RedisError>] {
    await withCheckedContinuation { continuation in
      devices.send(steps.map(\.transaction)) { [self] replies in
        for (step, reply) in zip(steps, replies) { end(step, reply) }
        continuation.resume(returning: replies)
      }
    }
  }

  private func end(_ step: DeviceStep, _ reply: Result<Transaction.Reply, RedisError>) {
    for (index, decided) in step.changes.enumerated() {
      let device = decided.device
      let found: StoredDevice? =
        switch reply {
        case .success(.done): nil
        case .success(.otherRecord(index, let bytes)): StoredDevice(device.token, bytes)
        default: device
        }
      known.end(device.token, round: step.rounds[index], found: found)
    }
  }
}

/// A change of a device, and what the device is then. A class, because it is large and passed on.
final class DecidedChange {
  let device: StoredDevice
  let change: DeviceChange
  let result: StoredDevice

  init(_ device: StoredDevice, _ change: DeviceChange) {
    (self.device, self.change) = (device, change)
    result = change.result(from: device)
  }
}

/// Changes of devices that are applied together.
struct DeviceStep {
  let changes: [DecidedChange]
  let transaction: Transaction
  let rounds: [Int]

  /// The outcome of the last change.
  func outcome(_ reply: Transaction.Reply) -> ChangeOutcome {
    let last = changes[changes.count - 1]
    var outcome = ChangeOutcome(before: last.device)
    switch reply {
    case .done(let left):
      outcome.end = last.change.isForeign ? .foreign : last.change.record == .kept ? .unchanged : .written
      outcome.after = last.result
      let own = left.suffix(last.change.left.count)
      outcome.left = Set(zip(last.change.left, own).filter(\.1).map(\.0))
    case .otherRecord(_, let bytes):
      outcome = ChangeOutcome(end: .conflict, before: StoredDevice(last.device.token, bytes))
    case .otherType(_, let set): outcome.end = .otherType(set)
    case .full: outcome.end = .full
    case .othersChanged: outcome.end = .conflict
    case .absent: break
    }
    return outcome
  }
}

// Changes for which other devices of the user may have to make room: all in one atomic step.
extension OneServerExecutor {
  /// Devices that leave together with the one that joins. More leave before, because of the length of a request.
  private static let maximumTogether = 16

  /// What is known about the user's devices.
  private enum Room {
    /// Nothing. The change needs none, or Redis says that it does.
    case unread
    case read(DeviceRoom)
    /// The device joins, however many there are: the next registration removes what is too much.
    case waived

    var read: DeviceRoom? { if case .read(let room) = self { room } else { nil } }
  }

  /// Reads the device, and says what it becomes. Nil: nothing is to be done.
  private typealias Decide = ([StoredDevice], DeviceRoom?, _ isRoomRead: Bool) -> [DecidedChange]?

  func register(
    _ registration: Registration, within scope: AppScope?
  ) async throws(RedisError) -> (outcome: ChangeOutcome, removed: Int) {
    let operation = DeviceOperation.register(registration).within(scope)
    let stored = try await device(registration.token.text)
    let user = registration.username
    if let phone = stored.phone(leavingFor: user), !operation.decide(stored).isForeign {
      try await bringAlong(phone, of: stored, to: user, within: scope)
    }
    let (outcome, removed) = try await join(
      [stored], of: registration.username
    ) { devices, room, _ in
      var registration = registration
      if let phone = room?.phone { registration.replaced = phone.marks }
      return [DecidedChange(devices[0], DeviceOperation.register(registration).within(scope).decide(devices[0]))]
    }
    return (outcome ?? ChangeOutcome(before: stored), removed)
  }

  func replace(
    token current: String, with new: String, of user: Username, within scope: AppScope?, now: Int64
  ) async throws(RedisError) -> (outcome: ChangeOutcome?, removed: Int) {
    try await join(try await reader.devices([current, new]), of: user) {
      devices, _, isRoomRead in
      guard devices[0].owner == user, let metadata = devices[0].exchanged(at: now) else { return nil }
      let unregistration = DeviceOperation.unregister(user, reason: RemovalCause.replaced)
      var leaving = unregistration.within(scope).decide(devices[0])
      guard !leaving.isForeign else { return nil }
      let taken = DeviceOperation.take(metadata).within(scope).decide(devices[1])
      guard !taken.isForeign else { return devices.map { DecidedChange($0, .foreign) } }
      // The new device takes the place of the one that it replaces, if that is in the set.
      leaving.requiresEntry = !isRoomRead
      return [DecidedChange(devices[0], leaving), DecidedChange(devices[1], taken)]
    }
  }

  /// Applies the changes of devices, the last of which may need room. Returns its outcome; nil if nothing is to be done.
  private func join(
    _ stored: [StoredDevice], of user: Username, _ decide: Decide
  ) async throws(RedisError) -> (ChangeOutcome?, removed: Int) {
    var (devices, room, removed) = (stored, Room.unread, 0)
    var hasTurn = false
    defer { if hasTurn { turns.leave(user) } }
    for attempt in 1...Registry.maximumConflicts {
      if devices.count == 1 { devices = devices.map(latest) }
      if attempt == Registry.maximumConflicts { room = .waived }
      let isRoomRead = if case .unread = room { false } else { true }
      guard let changes = decide(devices, room.read, isRoomRead) else { return (nil, removed) }
      if let last = changes.last, last.change.isForeign {
        room = .unread
      } else if !isRoomRead, devices.count == 1, let joining = changes[0].newAtPhone {
        (room, removed) = try await roomRead(in: user, for: joining, except: devices, removed)
        continue
      }
      let step = begin(changes, room, of: user)
      let reply = try await send([step])[0].get()
      switch reply {
      case .otherRecord(let index, let bytes) where index >= step.changes.count - devices.count:
        let index = index - step.changes.count + devices.count
        devices[index] = StoredDevice(devices[index].token, bytes)
      case .full, .absent, .othersChanged, .otherRecord:
        // Others of this process would only be in each other's way.
        if !hasTurn { await turns.take(user) }
        hasTurn = true
        let joining = step.changes[step.changes.count - 1].result
        (room, removed) = try await roomRead(in: user, for: joining, except: devices, removed)
      default:
        let outcome = step.outcome(reply)
        if let error = outcome.error { throw error }
        return (outcome, removed + step.changes.count - devices.count - (room.read?.phone?.replaced.count ?? 0))
      }
    }
    throw Registry.conflict
  }

  /// Reads which devices leave. Removes those before the new one joins that are too many for one step.
  private func roomRead(
    in user: Username, for joining: StoredDevice, except devices: [StoredDevice], _ removed: Int
  ) async throws(RedisError) -> (Room, removed: Int) {
    let room = try await self.room(
      in: user, for: joining.limitGroup, joining: devices.count == 1 ? joining : nil, except: devices.map(\.token))
    let replaced = room.phone?.replaced ?? []
    let excess = room.leaving.count + replaced.count - OneServerExecutor.maximumTogether
    guard excess > 0 else { return (.read(room), removed) }
    if !replaced.isEmpty {
      // The latest leave with the step that brings the new one: the phone is never without a token.
      let oldest = replaced.sorted { $0.leaves(before: $1) }.prefix(excess)
      _ = try await evict(oldest, from: user, because: RemovalCause.newToken)
      return (.unread, removed)
    }
    let gone = try await evict(room.leaving, from: user)
    return (room.isPartial ? .waived : .unread, removed + gone)
  }

  private func begin(_ changes: [DecidedChange], _ room: Room, of user: Username) -> DeviceStep {
    switch room {
    case .unread: return begin(changes, limit: maximumDevices)
    case .waived: return begin(changes, limit: nil)
    case .read(let room):
      func eviction(_ member: Registry.Member, because reason: String) -> DecidedChange {
        let device = StoredDevice(member.token, member.stored)
        return DecidedChange(device, member.eviction(from: user, because: reason).operation.decide(device))
      }
      let evictions =
        (room.phone?.replaced ?? []).map { eviction($0, because: RemovalCause.newToken) }
        + room.leaving.map { eviction($0, because: RemovalCause.limit) }
      return begin(evictions + changes, limit: nil, compared: (user, room))
    }
  }
}
