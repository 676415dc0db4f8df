import Registry
import EventLoop
package import Redis

extension Registry {
  /// Devices of one script; more would hold up others for longer than a millisecond or two.
  private static let restoredPerScript = 100

  /// Writes each entry exactly as it is, unless what is there is as new. A user who would get more devices than allowed
  /// keeps the newest. Several scripts are under way at once.
  package func restore(_ entries: [BackupEntry]) async throws(RedisError) -> BackupSummary {
    var summary = BackupSummary()
    var devices: [Restoring] = []
    var instances: [(id: String, record: InstanceRecord)] = []
    for entry in entries {
      switch entry {
      case .refused(let reason): summary.refuse(reason)
      case .device(let token, let metadata): devices.append(Restoring(token: token, metadata: metadata))
      case .instance(let id, let record): instances.append((id, record))
      }
    }
    // Those that stay come before those that a user would have too many.
    devices.sort { $0.metadata.updatedAt > $1.metadata.updatedAt }
    summary += try await restore(instances)
    for _ in 0..<Registry.maximumConflicts where !devices.isEmpty {
      devices = try await restore(devices, &summary)
    }
    guard devices.allSatisfy(\.isSurplus) else {
      throw .notSent("tokens are being registered by others at the same time; try again")
    }
    for _ in devices { summary.refuse(.tooManyDevices) }
    return summary
  }

  /// Returns those to be tried again: their previous owner or app was another than thought, or room was made for them.
  private func restore(
    _ devices: [Restoring], _ summary: inout BackupSummary
  ) async throws(RedisError) -> [Restoring] {
    let batches = stride(from: 0, to: devices.count, by: Registry.restoredPerScript).map {
      devices[$0..<min($0 + Registry.restoredPerScript, devices.count)]
    }
    var again: [Restoring] = []
    var surplus: [Restoring] = []
    for (batch, reply) in zip(batches, try await answers(to: batches)) {
      for (device, decision) in zip(batch, reply.array ?? []) {
        var next = device
        next.isSurplus = decision.integer == -2
        if let previous = decision.array, previous.count == 2 {
          (next.previousOwner, next.previousApp) = Registry.place(previous[...])
          again.append(next)
        } else if next.isSurplus {
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

  /// Makes room for those that are newer than what the user has, and returns them. The others are refused.
  private func admit(
    _ devices: [Restoring], to user: String, _ summary: inout BackupSummary
  ) async throws(RedisError) -> [Restoring] {
    let members = try await members(of: user).sorted { $1.leaves(before: $0) }
    let devices = devices.sorted { $0.metadata.updatedAt > $1.metadata.updatedAt }
    var kept = 0
    var admitted = 0
    // The newest of both, and what is there before what would come.
    while kept + admitted < maximumDevices {
      let member = kept < members.count ? members[kept].metadata?.updatedAt : nil
      let device = admitted < devices.count ? devices[admitted].metadata.updatedAt : nil
      guard member != nil || device != nil else { break }
      if member ?? .min >= device ?? .min { kept += 1 } else { admitted += 1 }
    }
    try await evict(Array(members[kept...]), from: user)
    for _ in devices[admitted...] { summary.refuse(.tooManyDevices) }
    return Array(devices[..<admitted])
  }

  /// In the order of the batches; the first error of any.
  private func answers(to batches: [ArraySlice<Restoring>]) async throws(RedisError) -> [RedisValue] {
    guard !batches.isEmpty else { return [] }
    let result: Result<[RedisValue], RedisError> = await withCheckedContinuation { continuation in
      let exchange = RestoreExchange(count: batches.count) { continuation.resume(returning: $0) }
      for (number, batch) in batches.enumerated() {
        connection.call(
          BackupScripts.restore, keys: batch.flatMap(\.keys),
          arguments: { command in
            command.append(Registry.metadataLifetime)
            command.append(maximumDevices)
            for device in batch { device.append(to: &command) }
          }, { exchange.answer(number, $0) })
      }
    }
    return try result.get()
  }

  private func restore(_ instances: [(id: String, record: InstanceRecord)]) async throws(RedisError) -> BackupSummary {
    var summary = BackupSummary()
    for start in stride(from: 0, to: instances.count, by: Registry.restoredPerScript) {
      let batch = instances[start..<min(start + Registry.restoredPerScript, instances.count)]
      let reply = try await connection.call(
        BackupScripts.restoreInstances, keys: batch.map { RegistryKeys.instance($0.id) },
        arguments: { command in
          for (_, record) in batch {
            command.append(record.json())
            command.append(record.updatedAt)
          }
        })
      for decision in reply.array ?? [] { summary.count(decision.integer) }
    }
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

extension Restoring {
  fileprivate func append(to command: inout RedisCommand) {
    command.append(token)
    command.append(metadata.username)
    command.append(metadata.bundleID ?? "")
    command.append(metadata.json())
    command.append(metadata.updatedAt)
    command.append(previousOwner)
    command.append(previousApp)
  }
}
