import EventLoop
import Events
import PushModel
import Redis

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
  }

  /// Reads the device, and says what it becomes. Nil: nothing is to be done.
  private typealias Decide = ([StoredDevice], _ isRoomRead: Bool) -> [DecidedChange]?

  func register(_ registration: Registration) async throws(RedisError) -> (outcome: ChangeOutcome, removed: Int) {
    let operation = DeviceOperation.register(registration)
    let stored = try await device(registration.token.text)
    let user = registration.username
    if let phone = stored.phone(leavingFor: user) { try await bringAlong(phone, of: stored, to: user) }
    let (outcome, removed) = try await join(
      [stored], of: registration.username
    ) { devices, _ in [DecidedChange(devices[0], operation.decide(devices[0]))] }
    return (outcome ?? ChangeOutcome(before: stored), removed)
  }

  func replace(
    token current: String, with new: String, of user: String, now: Int64
  ) async throws(RedisError) -> (device: StoredDevice?, removed: Int) {
    if new == current {
      let outcome = try await complete(.renew(user, now: now), on: current)
      return (outcome.end == .written ? outcome.after : nil, 0)
    }
    let (outcome, removed) = try await join(try await reader.devices([current, new]), of: user) { devices, isRoomRead in
      guard devices[0].owner == user, let metadata = devices[0].exchanged(at: now) else { return nil }
      var leaving = DeviceOperation.unregister(user, reason: RemovalCause.replaced).decide(devices[0])
      // The new device takes the place of the one that it replaces, if that is in the set.
      leaving.requiresEntry = !isRoomRead
      return [
        DecidedChange(devices[0], leaving),
        DecidedChange(devices[1], DeviceOperation.take(metadata).decide(devices[1])),
      ]
    }
    return (outcome?.after, removed)
  }

  /// Applies the changes of devices, the last of which may need room. Returns its outcome; nil if nothing is to be done.
  private func join(
    _ stored: [StoredDevice], of user: String, _ decide: Decide
  ) async throws(RedisError) -> (ChangeOutcome?, removed: Int) {
    var (devices, room, removed) = (stored, Room.unread, 0)
    var hasTurn = false
    defer { if hasTurn { turns.leave(user) } }
    for attempt in 1...Registry.maximumConflicts {
      if devices.count == 1 { devices = devices.map(latest) }
      if attempt == Registry.maximumConflicts { room = .waived }
      let isRoomRead = if case .unread = room { false } else { true }
      guard let changes = decide(devices, isRoomRead) else { return (nil, removed) }
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
        let crowd = step.changes[step.changes.count - 1].result.crowd
        let read = try await self.room(in: user, for: crowd, except: devices.map(\.token))
        (room, removed) = try await reduced(read, of: user, removed)
      default:
        let outcome = step.outcome(reply)
        if let error = outcome.error { throw error }
        return (outcome, removed + step.changes.count - devices.count)
      }
    }
    throw Registry.conflict
  }

  /// Removes devices before the new one joins if they are too many for one step.
  private func reduced(
    _ room: DeviceRoom, of user: String, _ removed: Int
  ) async throws(RedisError) -> (Room, removed: Int) {
    guard room.leaving.count > OneServerExecutor.maximumTogether else { return (.read(room), removed) }
    let gone = try await evict(room.leaving, from: user)
    return (room.isPartial ? .waived : .unread, removed + gone)
  }

  private func begin(_ changes: [DecidedChange], _ room: Room, of user: String) -> DeviceStep {
    switch room {
    case .unread: return begin(changes, limit: maximumDevices)
    case .waived: return begin(changes, limit: nil)
    case .read(let room):
      let evictions = room.leaving.map { member in
        let device = StoredDevice(member.token, member.stored)
        return DecidedChange(device, member.eviction(from: user).operation.decide(device))
      }
      return begin(evictions + changes, limit: nil, compared: (user, room))
    }
  }
}
