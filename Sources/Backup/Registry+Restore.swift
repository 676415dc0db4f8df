import Registry
import EventLoop
package import Redis

extension Registry {
  /// The number of devices or instances per script on one server, which blocks Redis for about a millisecond.
  private static let restoredPerScript = 100

  /// Writes each entry unchanged, unless the record in Redis is at least as new. A user keeps at most ``maximumDevices`` of
  /// each app and ``maximumResolved`` of all, the newest. Several scripts run at once.
  package func restore(_ entries: [BackupEntry]) async throws(RedisError) -> BackupSummary {
    var summary = BackupSummary()
    var devices: [RestoredDevice] = []
    var instances: [(id: String, record: InstanceRecord)] = []
    for entry in entries {
      switch entry {
      case .refused(let reason): summary.refuse(reason)
      case .device(let token, let metadata): devices.append(RestoredDevice(token: token, metadata: metadata))
      case .instance(let id, let record): instances.append((id, record))
      }
    }
    // The newest first, because a user keeps the newest.
    devices.sort { $0.metadata.updatedAt > $1.metadata.updatedAt }
    summary += try await restore(instances)
    for _ in 0..<Registry.maximumConflicts where !devices.isEmpty {
      devices = try await restore(devices, &summary)
    }
    guard devices.isEmpty else {
      throw .notSent("other processes register the same tokens at the same time; try again")
    }
    return summary
  }

  /// Returns the devices to try again: their previous owner or app was not the expected one, or older devices were removed.
  private func restore(
    _ devices: [RestoredDevice], _ summary: inout BackupSummary
  ) async throws(RedisError) -> [RestoredDevice] {
    let batches = stride(from: 0, to: devices.count, by: Registry.restoredPerScript).map {
      devices[$0..<min($0 + Registry.restoredPerScript, devices.count)]
    }
    var again: [RestoredDevice] = []
    var surplus: [RestoredDevice] = []
    for (batch, reply) in zip(batches, try await replies(to: batches)) {
      for (device, decision) in zip(batch, reply.array ?? []) {
        var next = device
        if let previous = decision.array, previous.count == 2 {
          (next.previousOwner, next.previousApp) = Registry.place(previous[...])
          again.append(next)
        } else if decision.integer == -2 {
          surplus.append(next)
        } else {
          summary.count(decision.integer)
        }
      }
    }
    for (user, devices) in Dictionary(grouping: surplus, by: \.metadata.username) {
      again += try await admit(devices, to: user, &summary)
    }
    return again
  }

  /// Removes older devices of the user in favour of newer ones, and returns the newer ones. Refuses the others.
  private func admit(
    _ devices: [RestoredDevice], to user: String, _ summary: inout BackupSummary
  ) async throws(RedisError) -> [RestoredDevice] {
    var members = try await members(of: user).sorted { $1.leaves(before: $0) }[...]
    var devices = devices.sorted { $0.metadata.updatedAt > $1.metadata.updatedAt }[...]
    var apps: [String: Int] = [:]
    var total = 0
    func keeps(_ app: String) -> Bool {
      guard total < Registry.maximumResolved, apps[app, default: 0] < maximumDevices else { return false }
      apps[app, default: 0] += 1
      total += 1
      return true
    }
    var leaving: [Member] = []
    var admitted: [RestoredDevice] = []
    // The newest of both. Of two that are equally new, the one in Redis stays.
    while let next = [members.first?.updatedAt, devices.first?.metadata.updatedAt].compactMap({ $0 }).max() {
      if let member = members.first, member.updatedAt == next {
        members.removeFirst()
        if member.metadata == nil || !keeps(member.app) { leaving.append(member) }
      } else if var device = devices.popFirst() {
        device.isAdmitted = keeps(device.metadata.bundleID ?? "")
        if device.isAdmitted { admitted.append(device) } else { summary.refuse(.tooManyDevices) }
      }
    }
    try await evict(leaving, from: user)
    return admitted
  }

  /// Returns the replies in the order of the batches, or throws the first error.
  private func replies(to batches: [ArraySlice<RestoredDevice>]) async throws(RedisError) -> [RedisValue] {
    guard !batches.isEmpty else { return [] }
    if let replies = try await restoreInSteps(batches.flatMap { $0.map { ($0.token, $0.metadata, $0.isAdmitted) } }) {
      return batches.map { batch in
        .array(replies[batch.startIndex..<batch.endIndex].map { .integer(Int64($0)) })
      }
    }
    let result: Result<[RedisValue], RedisError> = await withCheckedContinuation { continuation in
      let group = ReplyGroup(count: batches.count) { continuation.resume(returning: $0) }
      for (number, batch) in batches.enumerated() {
        connection.call(
          RestoreScripts.restore, keys: batch.flatMap(\.keys),
          arguments: { command in
            command.append(Registry.metadataLifetime)
            command.append(maximumDevices)
            for device in batch { device.append(to: &command) }
          }, { group.receive(number, $0) })
      }
    }
    return try result.get()
  }

  private func restore(_ instances: [(id: String, record: InstanceRecord)]) async throws(RedisError) -> BackupSummary {
    var summary = BackupSummary()
    guard !instances.isEmpty else { return summary }
    let size = isStepwise ? 1 : Registry.restoredPerScript
    let batches = stride(from: 0, to: instances.count, by: size).map {
      instances[$0..<min($0 + size, instances.count)]
    }
    let result: Result<[RedisValue], RedisError> = await withCheckedContinuation { continuation in
      let group = ReplyGroup(count: batches.count) { continuation.resume(returning: $0) }
      for (number, batch) in batches.enumerated() {
        connection.call(
          RestoreScripts.restoreInstances, keys: batch.map { RegistryKeys.instance($0.id) },
          arguments: { command in
            for (_, record) in batch {
              command.append(record.json())
              command.append(record.updatedAt)
            }
          }, { group.receive(number, $0) })
      }
    }
    for decision in try result.get().flatMap({ $0.array ?? [] }) { summary.count(decision.integer) }
    return summary
  }
}

extension BackupSummary {
  fileprivate mutating func count(_ decision: Int64?) {
    switch decision {
    case 1: created += 1
    case 2: updated += 1
    case 0: kept += 1
    default: refuse(.wrongType)
    }
  }
}

extension RestoredDevice {
  fileprivate func append(to command: inout RedisCommand) {
    command.append(token)
    command.append(metadata.username)
    command.append(metadata.bundleID ?? "")
    command.append(metadata.json())
    command.append(metadata.updatedAt)
    command.append(previousOwner)
    command.append(previousApp)
    command.append(isAdmitted ? 1 : 0)
  }
}
