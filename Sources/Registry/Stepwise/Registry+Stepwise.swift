import EventLoop
import Events
import PushModel
package import Redis
import Telemetry

// The operations of the registry on a cluster, where the keys of a device are in several hash slots.
extension Registry {
  func enroll(_ registration: Registration, _ steps: StepRunner) async throws(RedisError) -> Enrollment {
    let (token, user) = (registration.token, registration.username)
    let outcome = try await settle(token, .register(registration), steps)
    let device = Ownership.device(token, metadata: outcome.bytes)
    // A device that the user has in this app already needs no room.
    let isNew = outcome.before.owner != user || outcome.before.app != device.bundleID ?? ""
    if outcome.isOverfull, isNew {
      logRemoved(try await makeRoom(in: user, for: token, of: device.bundleID ?? "", steps), of: user)
    }
    let former = outcome.end == .written ? outcome.before.owner : ""
    return Enrollment(
      device: device,
      previousOwner: former.isEmpty || former == user ? nil : former)
  }

  /// Removes the devices that must make room for one that was registered. Returns how many were removed, at most
  /// ``maximumBatch``.
  private func makeRoom(
    in user: String, for token: String, of app: String, _ steps: StepRunner
  ) async throws(RedisError) -> Int {
    var gone = 0
    for _ in 0..<Registry.maximumConflicts {
      let room = try await room(in: user, for: app, except: [token])
      let needed = min(room.needed, Registry.maximumBatch - gone)
      guard needed > 0 else { break }
      // While others remove devices, too, none leaves because of what was read before.
      let limit = (room.size ?? 0) - needed
      let removed = try await evict(Array(room.leaving.prefix(needed)), from: user, keeping: limit, steps)
      gone += removed
      if removed == needed { break }
    }
    return gone
  }

  /// Removes these entries, each unless it has changed, while the user has more than `limit`. Returns how many were
  /// removed.
  func evict(
    _ members: [Member], from user: String, keeping limit: Int, _ steps: StepRunner
  ) async throws(RedisError) -> Int {
    let place = DeviceSet.user(user)
    let (tokens, malformed) = (members.filter(\.isToken), members.filter { !$0.isToken })
    var gone = 0
    if !malformed.isEmpty {
      let reply = try await connection.call(StepScripts.leave, keys: [RegistryKeys.userTokens(user)]) { command in
        command.append(limit)
        for member in malformed { command.append(member.entry) }
      }
      gone += reply.count ?? 0
    }
    let operations = tokens.map { member in
      let operation = DeviceOperation.evict(user: user, stored: member.stored ?? [], above: limit)
      return (String(decoding: member.entry, as: UTF8.self), operation)
    }
    return gone + (try await settleAll(operations, steps)).count { $0.left.contains(place) }
  }

  /// The new token gets its metadata before the current one is removed: after a crash the user has both.
  func replace(
    token current: String, with new: String, of username: String, now: Int64, _ steps: StepRunner
  ) async throws(RedisError) -> Device? {
    if new == current {
      let outcome = try await settle(current, .renew(username, now: now), steps)
      return outcome.end == .written ? Ownership.device(new, metadata: outcome.bytes) : nil
    }
    let stored = try await view(current)
    guard stored.owner == username, let metadata = stored.exchanged(at: now) else { return nil }
    let taken = try await settle(new, .take(metadata), steps)
    let removed = try await settle(current, .unregister(username, reason: RemovalCause.replaced), steps)
    guard removed.end == .written else {
      // Another exchange of the current token was faster.
      _ = try await settle(new, .giveBack(taken.before.metadata, written: taken.bytes), steps)
      return nil
    }
    // The new device takes the place of the one that it replaces, if that was in the set.
    if !removed.left.contains(.user(username)) {
      let app = metadata.bundleID ?? ""
      logRemoved(try await makeRoom(in: username, for: new, of: app, steps), of: username)
    }
    return Ownership.device(new, metadata: taken.bytes)
  }

  private func view(_ token: String) async throws(RedisError) -> StoredDevice {
    let reply = try await connection.run(StepScripts.view, keys: [RegistryKeys.token(token)])
    return StoredDevice(reply) ?? .absent
  }

  func unregister(
    token: String, username: String, _ steps: StepRunner
  ) async throws(RedisError) -> Unregistration {
    let outcome = try await settle(token, .unregister(username), steps)
    return Unregistration(
      removedEntry: outcome.left.contains(.user(username)), removedMetadata: outcome.end == .written)
  }

  /// Removes well-formed tokens from a user.
  func unregister(
    _ tokens: [[UInt8]], from username: String, _ steps: StepRunner, _ result: inout BulkUnregistration
  ) async throws(RedisError) {
    let operations = tokens.map { (String(decoding: $0, as: UTF8.self), DeviceOperation.unregister(username)) }
    for outcome in try await settleAll(operations, steps) {
      if outcome.left.contains(.user(username)) { result.entries += 1 }
      if outcome.end == .written { result.metadata += 1 }
    }
    if result.entries > 0 {
      let key = RegistryKeys.userTokens(username)
      result.isSetGone = try await connection.send(RedisCommand("EXISTS", key)).integer == 0
    }
  }

  func removeStale(_ devices: [StaleDevice], _ steps: StepRunner) async throws(RedisError) -> Int {
    let outcomes = try await settleAll(devices.map { ($0.token, .removeStale($0)) }, steps)
    return outcomes.count { $0.end == .written }
  }

  /// Removes entries from a user's set or an app's audience.
  func clean(_ place: DeviceSet, _ removals: [Removal], _ steps: StepRunner) async throws(RedisError) -> Int {
    var operations: [(String, DeviceOperation)] = []
    // An entry that is not a token has no metadata that others could change.
    var malformed: [String: [[UInt8]]] = [:]
    for removal in removals {
      let entry = String(decoding: removal.entry, as: UTF8.self)
      if removal.reason == .malformedToken {
        malformed[place.key(of: removal.entry), default: []].append(removal.entry)
      } else {
        operations.append((entry, .clean(place)))
      }
    }
    var removed = 0
    for (key, entries) in malformed {
      for start in stride(from: 0, to: entries.count, by: Registry.maximumBatch) {
        var command = place.removal(from: key)
        for entry in entries[start..<min(start + Registry.maximumBatch, entries.count)] { command.append(entry) }
        removed += try await connection.send(command).count ?? 0
      }
    }
    let outcomes = try await settleAll(operations, steps)
    announce(zip(operations, outcomes).filter { $1.left.contains(place) }.map { ($0.0, $1.before) }, leftFrom: place)
    return removed + outcomes.count { $0.left.contains(place) }
  }

  /// Writes the events of tokens that were removed from a user's set, because the device is not the user's.
  private func announce(_ removed: [(token: String, device: StoredDevice)], leftFrom place: DeviceSet) {
    guard let events, case .user(let user) = place else { return }
    let now = Clock.unixMilliseconds
    events.append(
      removed.map { token, device in
        let reason = device.metadata == nil ? RemovalCause.expired : RemovalCause.mismatch
        return .removed(EventDevice(token: token, user: user), reason: reason, at: now)
      })
  }

  /// Writes each device, unless the one in Redis is at least as new. Returns for each: 1 created, 2 replaced an older
  /// one, 0 the one in Redis stays, -1 a key has another type, -2 the user has too many devices, which must be read; as
  /// the script of one server does.
  package func restoreInSteps(
    _ devices: [(token: String, metadata: DeviceMetadata, isAdmitted: Bool)]
  ) async throws(RedisError) -> [Int]? {
    guard let steps else { return nil }
    let outcomes = try await settle(
      devices.map { ($0.token, .restore($0.metadata, isAdmitted: $0.isAdmitted)) }, steps)
    var replies: [Int] = []
    for outcome in outcomes {
      switch outcome.end {
      case .written: replies.append(outcome.before.metadata == nil ? 1 : 2)
      case .unchanged: replies.append(0)
      case .misfit: replies.append(-1)
      case .full: replies.append(-2)
      case .conflict: throw Registry.conflict
      }
    }
    return replies
  }

  private func logRemoved(_ count: Int, of user: String) {
    guard count > 0 else { return }
    log.info(
      "a user has the maximum number of devices of an app; those registered longest ago were removed",
      ["username": .init(user), "removed": .init(count)])
  }
}
