import PushModel
import Registry
import EventLoop
package import Redis

/// A device to write.
private struct RestoredDevice {
  let token: DeviceToken
  let metadata: DeviceMetadata
  /// By which a user keeps the newest; 0 if nothing is known, as of a date later than now.
  let registeredAt: Int64
  let line: Int?
  /// Whether it was found to be among those that the user keeps.
  var isAdmitted = false

  init(_ token: DeviceToken, _ metadata: DeviceMetadata, line: Int?, now: Int64) {
    self.token = token
    self.line = line
    self.metadata = metadata
    registeredAt = metadata.updatedAt > now ? 0 : metadata.updatedAt
  }
}

extension Registry {
  /// Writes each entry unchanged, unless the record in Redis is at least as new. A date later than now is stored as now and
  /// replaces nothing. A user keeps at most ``maximumDevices`` of
  /// each app and kind, and ``maximumResolved`` of all, the newest. `lines` are those of the entries in their file.
  package func restore(_ entries: [BackupEntry], lines: [Int] = []) async throws(RedisError) -> BackupSummary {
    var summary = BackupSummary()
    let now = Clock.unixMilliseconds
    var devices: [RestoredDevice] = []
    var instances: [(id: String, record: InstanceRecord)] = []
    for (index, entry) in entries.enumerated() {
      let line = index < lines.count ? lines[index] : nil
      switch entry {
      case .refused(let reason): summary.refuse(reason, line: line)
      case .device(let token, let metadata):
        if metadata.platform == .ios, !DeviceToken.isOfAPNs(token.text) { summary.notOfAPNs += 1 }
        devices.append(RestoredDevice(token, metadata, line: line, now: now))
      case .instance(let id, let record): instances.append((id, record))
      case .channel(let channel): try await restore(channel, &summary)
      }
    }
    for result in try await restore(instances) { summary.count(result) }
    // The newest first, because a user keeps the newest.
    devices.sort { $0.registeredAt > $1.registeredAt }
    for _ in 0..<Registry.maximumConflicts where !devices.isEmpty {
      devices = try await restore(devices, &summary)
    }
    guard devices.isEmpty else {
      throw .notSent("other processes register devices of the same users at the same time; try again")
    }
    return summary
  }

  /// Adds the ids of environments in which Redis has none.
  private func restore(_ channel: Channel, _ summary: inout BackupSummary) async throws(RedisError) {
    let channels = Channels(connection: connection)
    let known = try await channels.channel(channel.name, of: channel.bundleID)
    var hasAdded = false
    for (environment, id) in channel.ids where known?.ids[environment] == nil {
      let addition = try await channels.add(
        id, in: environment, storage: channel.storage, to: channel.name, of: channel.bundleID)
      hasAdded = hasAdded || addition == .added
    }
    if !hasAdded { summary.kept += 1 } else if known == nil { summary.created += 1 } else { summary.updated += 1 }
  }

  /// Returns the devices to try again, because older ones of their users were removed.
  private func restore(
    _ devices: [RestoredDevice], _ summary: inout BackupSummary
  ) async throws(RedisError) -> [RestoredDevice] {
    var again: [RestoredDevice] = []
    var surplus: [RestoredDevice] = []
    for (device, result) in zip(devices, try await restore(devices.map { ($0.token, $0.metadata, $0.isAdmitted) })) {
      if case .full = result { surplus.append(device) } else { summary.count(result, line: device.line) }
    }
    for (user, devices) in Dictionary(grouping: surplus, by: \.metadata.username) {
      again += try await admit(devices, to: user, &summary)
    }
    return again
  }

  /// Removes older devices of the user in favour of newer ones, and returns the newer ones. Refuses the others.
  private func admit(
    _ devices: [RestoredDevice], to user: Username, _ summary: inout BackupSummary
  ) async throws(RedisError) -> [RestoredDevice] {
    var members = try await members(of: user).sorted { $1.leaves(before: $0) }[...]
    var devices = devices.sorted { $0.registeredAt > $1.registeredAt }[...]
    var counts: [DeviceLimitGroup: Int] = [:]
    var total = 0
    func keeps(_ group: DeviceLimitGroup) -> Bool {
      guard total < Registry.maximumResolved, counts[group, default: 0] < maximumDevices else { return false }
      counts[group, default: 0] += 1
      total += 1
      return true
    }
    var leaving: [Registry.Member] = []
    var admitted: [RestoredDevice] = []
    // The newest of both. Of two that are equally new, the one in Redis stays.
    while let next = [members.first?.updatedAt, devices.first?.registeredAt].compactMap({ $0 }).max() {
      if let member = members.first, member.updatedAt == next {
        members.removeFirst()
        if member.metadata == nil || !keeps(member.limitGroup) { leaving.append(member) }
      } else if var device = devices.popFirst() {
        device.isAdmitted = keeps(DeviceLimitGroup(device.metadata))
        if device.isAdmitted { admitted.append(device) } else { summary.refuse(.tooManyDevices, line: device.line) }
      }
    }
    try await evict(leaving, from: user)
    return admitted
  }
}

extension BackupSummary {
  fileprivate mutating func count(_ result: Restoration, line: Int? = nil) {
    switch result {
    case .created: created += 1
    case .updated: updated += 1
    case .kept: kept += 1
    case .wrongType, .full: refuse(.wrongType, line: line)
    }
  }
}
