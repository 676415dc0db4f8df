import EventLoop
import Events
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
  let turns = Turns()
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
    _ changes: [DecidedChange], limit: Int?, compared: (user: String, room: DeviceRoom)? = nil
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
      outcome.end = last.change.record == .kept ? .unchanged : .written
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
