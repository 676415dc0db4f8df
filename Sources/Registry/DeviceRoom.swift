import Redis

/// Which devices of a user make room for one more of an app and kind, besides the former tokens of its phone.
struct DeviceRoom: Sendable {
  /// The entries of the user's set, as they were read.
  let members: [Registry.Member]
  /// The former tokens of the new device's phone, and what it remembers of them.
  let phone: PhoneTokens?
  /// The other devices that leave, in the order of removal, at most ``Registry/maximumBatch``.
  private(set) var leaving: [Registry.Member] = []

  /// - Parameters:
  ///   - members: the user's devices.
  ///   - joining: the new device, if it replaces former tokens of its phone.
  ///   - limitGroup: that of the new device.
  ///   - tokens: the new device, and one that it replaces. They do not count.
  ///   - hasJoined: whether the new device is in the set already, unless others have removed it.
  ///   - limit: how many devices of one kind a user may have in one app.
  ///
  /// In all a user may have ``Registry/maximumResolved`` devices. One more, and the oldest of the largest group leaves, so
  /// that no app can remove the devices of one that has fewer.
  init(
    among members: [Registry.Member], joining: StoredDevice? = nil, for limitGroup: DeviceLimitGroup,
    except tokens: [String], hasJoined: Bool, limit: Int
  ) {
    self.members = members
    phone = joining.map { PhoneTokens(joining: $0, among: members.filter { !tokens.contains($0.token) }) }
    let tokens = tokens + (phone?.replaced.map(\.token) ?? [])
    let added = hasJoined && !members.contains { tokens.contains($0.token) } ? 0 : 1
    let others = members.filter { $0.metadata != nil && !tokens.contains($0.token) }
    var limitGroups = Dictionary(grouping: others.sorted { $0.leaves(before: $1) }, by: \.limitGroup).mapValues {
      $0[...]
    }
    var own = (limitGroups[limitGroup]?.count ?? 0) + added
    var total = others.count + added
    while leaving.count < Registry.maximumBatch {
      let full = own > limit ? limitGroup : total > Registry.maximumResolved ? DeviceRoom.largest(limitGroups) : nil
      guard let full, let member = limitGroups[full]?.popFirst() else { break }
      leaving.append(member)
      total -= 1
      if full == limitGroup { own -= 1 }
    }
  }

  /// Whether the user has more than the maximum also when these have left: the rest leaves later.
  var isPartial: Bool { leaving.count == Registry.maximumBatch }

  /// The group with most devices; of several the one whose oldest device is the oldest.
  private static func largest(_ limitGroups: [DeviceLimitGroup: ArraySlice<Registry.Member>]) -> DeviceLimitGroup? {
    limitGroups.max { one, other in
      guard one.value.count == other.value.count else { return one.value.count < other.value.count }
      guard let first = one.value.first, let second = other.value.first else { return false }
      return second.leaves(before: first)
    }?.key
  }
}
