import PushModel
import Redis

/// What must be removed from a user so that one more device of an app can be registered.
struct DeviceRoom: Sendable {
  /// Devices that are offered to make room in addition to those needed, because others may remove some at the same
  /// time.
  private static let spareMembers = 16

  /// How many devices must leave, at most ``Registry/maximumBatch``.
  private(set) var needed = 0
  /// The devices that may leave, in the order of removal.
  private(set) var leaving: [Registry.Member] = []
  /// How many entries the user's set had when it was read. Nil: it has not been read.
  var size: Int?

  init() {}

  /// - Parameters:
  ///   - members: the user's devices, without the new one.
  ///   - app: the app of the new device; empty if it has none.
  ///   - joining: 1 for the new device; 0 if others have removed it already.
  ///   - limit: how many devices a user may have in one app.
  ///   - size: see ``size``.
  ///
  /// Over all apps a user may have ``Registry/maximumResolved`` devices. One more, and the oldest of the app with most of
  /// them leaves, so that no app can remove the devices of one that has fewer.
  init(among members: [Registry.Member], for app: String, joining: Int = 1, limit: Int, size: Int) {
    self.size = size
    var apps = Dictionary(grouping: members.sorted { $0.leaves(before: $1) }, by: \.app).mapValues { $0[...] }
    var own = (apps[app]?.count ?? 0) + joining
    var total = members.count + joining
    var crowded: String?
    while needed < Registry.maximumBatch {
      if own > limit {
        crowded = app
      } else if total > Registry.maximumResolved {
        crowded = DeviceRoom.largest(apps)
      } else {
        break
      }
      guard let name = crowded, let member = apps[name]?.popFirst() else { break }
      leaving.append(member)
      needed += 1
      total -= 1
      if name == app { own -= 1 }
    }
    if let crowded { leaving += apps[crowded]?.prefix(DeviceRoom.spareMembers) ?? [] }
  }

  /// The app with most devices; of several the one whose oldest device is the oldest.
  private static func largest(_ apps: [String: ArraySlice<Registry.Member>]) -> String? {
    apps.max { one, other in
      guard one.value.count == other.value.count else { return one.value.count < other.value.count }
      guard let first = one.value.first, let second = other.value.first else { return false }
      return second.leaves(before: first)
    }?.key
  }
}

extension Registry {
  /// Reads a user's devices, and decides which must make room for one of `app`. Removes entries that do not belong to the
  /// user, up to ``maximumBatch``. The new device, and one that it replaces, are `tokens`.
  ///
  /// `size` is how many entries the set had before it was read. Nil: the new device is in the set already, unless others
  /// have removed it.
  func room(
    in user: String, for app: String, except tokens: [String], size: Int? = nil
  ) async throws(RedisError) -> DeviceRoom {
    let kept = Set(tokens.map { Array($0.utf8) })
    let all = try await members(of: user)
    let members = all.filter { !kept.contains($0.entry) }
    let removals = members.filter { $0.metadata == nil }.prefix(Registry.maximumBatch).compactMap { member in
      let decision = Ownership.decide(entry: member.entry, metadata: member.stored, owner: user)
      return if case .remove(let removal) = decision { removal } else { nil as Removal? }
    }
    let removed = removals.isEmpty ? 0 : try await clean(user: user, removals)
    return DeviceRoom(
      among: members.filter { $0.metadata != nil }, for: app, joining: size == nil ? all.count - members.count : 1,
      limit: maximumDevices, size: (size ?? all.count) - removed)
  }
}

// Keys and arguments of scripts.
extension DeviceRoom {
  var keys: [String] { leaving.flatMap(\.keys) }

  /// What `demand` of ``RegistryScripts/room`` reads. `isLast` is whether the script must go on in any case.
  func append(to command: inout RedisCommand, isLast: Bool) {
    command.append(isLast ? "*" : size.map { String($0) } ?? "")
    command.append(needed)
    for member in leaving { member.append(to: &command) }
  }
}
