import Events
import PushModel

extension Registry {
  /// By how much the clocks of a fleet may differ, in ms.
  nonisolated static let maximumClockDifference: Int64 = 60_000
}

/// What is to be done with one token, and the rules of ownership: the stored metadata names the owner and the app of a
/// device, and every change follows from it.
enum DeviceOperation: Sendable, Equatable {
  case register(Registration)
  /// Gives the token this metadata, whoever has it.
  case take(DeviceMetadata)
  /// Registers a device of this user again with its own data, at this time (unix ms).
  case renew(Username, now: Int64)
  /// Gives the token back what it had before, if it still has the metadata `written`.
  case giveBack(DeviceMetadata?, written: [UInt8])
  /// Removes the device, if it is registered.
  case forget
  /// Removes the device from a user. Another owner keeps it. The reason is for the event.
  case unregister(Username, reason: String = RemovalCause.unregistered)
  /// Removes the device if it has the same owner and was not registered later. A registration with a date later than `now` is
  /// of a clock that was wrong: no later one has replaced it.
  case removeStale(StaleDevice, now: Int64)
  /// Writes the metadata, unless the one in Redis is at least as new, or the user has many devices and this one is not
  /// admitted. An equally new one of the same owner takes the app, if it has none. Metadata with a date later than `now` replace
  /// nothing, and are dated `now`.
  case restore(DeviceMetadata, isAdmitted: Bool, now: Int64)
  /// Writes the metadata of another form of the token, unless the registration in Redis is at least as new.
  case adopt(DeviceMetadata, now: Int64)
  /// Removes what is stored under another form of a token, if it still has the metadata `stored`.
  case discard(stored: [UInt8])
  /// Removes the device from a user if its metadata is `stored`, so that the user has at most `above` devices left.
  case evict(user: Username, stored: [UInt8], above: Int, reason: String = RemovalCause.limit)
  /// Removes the token from a set, unless its metadata names the set.
  case clean(DeviceSet)
  /// Adds the token to the sets that its metadata names.
  case repair
  /// Stores what answers have shown of the device, unless it was changed after it was read.
  case learn(DeviceFinding, LearnedDevice)
  /// Gives a device without an app this one.
  case assume(app: String)
  /// Gives a token of a phone, whose app token has changed hands, to the new owner.
  case follow(deviceID: String, from: Username, to: Username)
  /// Gives a device the one form of its owner's name, and takes it out of the set of the user under this other form.
  case unite(form: ExactText)
  /// An operation of a credential that is bound to apps: nothing becomes of a device of another app.
  indirect case within(AppScope, DeviceOperation)

  /// Binds the operation to apps, if there is a scope.
  func within(_ scope: AppScope?) -> DeviceOperation { scope.map { .within($0, self) } ?? self }

  var unscoped: DeviceOperation { if case .within(_, let operation) = self { operation } else { self } }

  /// Decides what becomes of the device.
  func decide(_ stored: StoredDevice) -> DeviceChange {
    switch self {
    case .register(let registration): DeviceOperation.register(registration, stored)
    case .take(let metadata): .write(metadata, over: stored, isForced: true)
    case .renew(let user, let now):
      stored.owner == user
        ? stored.exchanged(at: now).map { .write($0, over: stored, isForced: true) } ?? .nothing : .nothing
    case .giveBack(let metadata, let written):
      if stored.bytes != written {
        .nothing
      } else if let metadata {
        .write(metadata, over: stored, isForced: true)
      } else {
        .delete(stored, reason: RemovalCause.replaced)
      }
    case .forget: stored.metadata == nil ? .nothing : .delete(stored, reason: RemovalCause.unregistered)
    case .unregister(let user, let reason):
      stored.metadata != nil && stored.owner == user
        ? .delete(stored, from: .user(user), reason: reason) : .leave(.user(user))
    case .removeStale(let device, let now): DeviceOperation.removeStale(device, now, stored)
    case .restore(let metadata, let isAdmitted, let now): DeviceOperation.restore(metadata, isAdmitted, now, stored)
    case .adopt(let metadata, let now): DeviceOperation.adopt(metadata, now, stored)
    case .discard(let read): DeviceOperation.discard(read, stored)
    case .evict(let user, let read, _, let reason):
      if stored.bytes != read {
        .nothing
      } else if stored.owner == user {
        .delete(stored, from: .user(user), reason: reason)
      } else {
        .leave(.user(user))
      }
    case .clean(let set): DeviceOperation.clean(set, stored)
    case .repair: DeviceChange(joined: stored.sets, isForced: true)
    case .learn(let finding, let device): DeviceOperation.learn(finding, device, stored)
    case .assume(let app): DeviceOperation.assume(app, stored)
    case .follow(let deviceID, let former, let owner): DeviceOperation.follow(deviceID, former, owner, stored)
    case .unite(let form): DeviceOperation.unite(form, stored)
    case .within(let scope, let operation): scope.allows(operation, on: stored) ? operation.decide(stored) : .foreign
    }
  }

  private static func register(_ registration: Registration, _ stored: StoredDevice) -> DeviceChange {
    let (user, given) = (registration.username, registration.bundleID ?? "")
    // An anonymous registration takes a device neither from its owner nor from its app.
    if user.isEmpty, !stored.owner.isEmpty || (!stored.app.isEmpty && stored.app != given) { return .nothing }
    let keepsApp = given.isEmpty || (registration.isBundleAssumed && !stored.app.isEmpty)
    let app = keepsApp ? stored.app : given
    var metadata = DeviceMetadata(
      username: user, platform: registration.platform, updatedAt: registration.now,
      bundleID: app.isEmpty ? nil : app, environment: registration.environment ?? stored.metadata?.environment,
      createdAt: stored.metadata?.createdAt ?? registration.now,
      kind: registration.kind ?? stored.metadata?.kind ?? .app,
      deviceID: registration.deviceID ?? stored.metadata?.deviceID,
      activity: registration.activity ?? stored.metadata?.activity,
      frequentPushes: registration.frequentPushes ?? stored.metadata?.frequentPushes)
    metadata.replaced = registration.replaced.isEmpty ? stored.marks(for: metadata) : registration.replaced
    let isAdded = stored.metadata == nil || stored.owner != user || stored.limitGroup != DeviceLimitGroup(metadata)
    return .write(metadata, over: stored, newOwner: isAdded && !user.isEmpty ? user : nil)
  }

  private static func learn(
    _ finding: DeviceFinding, _ device: LearnedDevice, _ stored: StoredDevice
  ) -> DeviceChange {
    guard var metadata = stored.metadata, metadata.username == device.owner, metadata.updatedAt == device.updatedAt,
      metadata.environment == device.environment
    else { return .nothing }
    switch finding {
    case .accepted(let environment):
      if metadata.environment == environment { return .nothing }
      metadata.environment = environment
    case .unreachable: if metadata.unreachable == finding.unreachable { return .nothing }
    }
    metadata.unreachable = finding.unreachable
    var change = DeviceChange.write(metadata, over: stored)
    change.keepsLifetime = true
    let isTold = device.environment != nil && finding.unreachable == nil
    if isTold { change.report?.isCorrection = true } else { change.report = nil }
    return change
  }

  private static func assume(_ app: String, _ stored: StoredDevice) -> DeviceChange {
    guard var metadata = stored.metadata, stored.app.isEmpty, !app.isEmpty else { return .nothing }
    metadata.bundleID = app
    var change = DeviceChange.write(metadata, over: stored)
    change.keepsLifetime = true
    // Nobody has registered anything; and a fleet may have a million of them.
    change.report = nil
    return change
  }

  private static func follow(
    _ deviceID: String, _ former: Username, _ owner: Username, _ stored: StoredDevice
  ) -> DeviceChange {
    guard var metadata = stored.metadata, metadata.deviceID == deviceID, metadata.username == former else {
      return .nothing
    }
    metadata.username = owner
    // The new owner may exceed the limit here; the next registration trims it.
    return .write(metadata, over: stored)
  }

  private static func removeStale(_ device: StaleDevice, _ now: Int64, _ stored: StoredDevice) -> DeviceChange {
    var sets: [DeviceSet] = []
    if !device.owner.isEmpty { sets.append(.user(device.owner)) }
    if let app = device.bundleID, !app.isEmpty { sets.append(.audience(app)) }
    if let metadata = stored.metadata, metadata.username == device.owner,
      metadata.updatedAt <= device.notAfter || metadata.updatedAt > now + Registry.maximumClockDifference
    {
      var change = DeviceChange.delete(stored, reason: device.reason)
      change.left += sets.filter { !change.left.contains($0) }
      return change
    }
    return stored.bytes.isEmpty ? DeviceChange(left: sets, isForced: true) : .nothing
  }

  private static func restore(
    _ metadata: DeviceMetadata, _ isAdmitted: Bool, _ now: Int64, _ stored: StoredDevice
  ) -> DeviceChange {
    var metadata = metadata
    let isLater = metadata.updatedAt > now
    metadata.updatedAt = min(metadata.updatedAt, now)
    metadata.createdAt = metadata.createdAt.map { min($0, now) }
    if let former = stored.metadata {
      if isLater || former.updatedAt > metadata.updatedAt { return .nothing }
      if former.updatedAt == metadata.updatedAt {
        guard former.username == metadata.username, stored.app.isEmpty, let app = metadata.bundleID, !app.isEmpty
        else { return .nothing }
        metadata = former
        metadata.bundleID = app
      }
      if metadata.username.isEmpty, !former.username.isEmpty { return .nothing }
    }
    var change = DeviceChange.write(metadata, over: stored)
    // A full Redis refuses a backup, so that an import is complete or not begun; and a backup tells no events.
    change.isForced = false
    change.report = nil
    if !isAdmitted, stored.owner != metadata.username { change.newOwner = metadata.username }
    return change
  }

  /// The device stays what it is, so that nothing is told of it.
  private static func adopt(_ metadata: DeviceMetadata, _ now: Int64, _ stored: StoredDevice) -> DeviceChange {
    var change = restore(metadata, true, now, stored)
    change.isForced = true
    return change
  }

  private static func discard(_ read: [UInt8], _ stored: StoredDevice) -> DeviceChange {
    guard stored.bytes == read else { return .nothing }
    var change = DeviceChange.delete(stored, reason: RemovalCause.replaced)
    change.report = nil
    return change
  }

  /// The device stays what it is, so that nothing is told of it.
  private static func unite(_ form: ExactText, _ stored: StoredDevice) -> DeviceChange {
    let set = DeviceSet.userForm(form)
    guard let metadata = stored.metadata else { return .leave(set) }
    guard metadata.storedName != nil else { return DeviceChange(joined: metadata.sets, left: [set], isForced: true) }
    var change = DeviceChange.write(metadata, over: stored, isForced: true)
    if !change.left.contains(set) { change.left.append(set) }
    change.keepsLifetime = true
    change.report = nil
    return change
  }

  private static func clean(_ set: DeviceSet, _ stored: StoredDevice) -> DeviceChange {
    if stored.sets.contains(set) { return .nothing }
    var change = DeviceChange.leave(set)
    guard case .user(let user) = set else { return change }
    let reason = stored.metadata == nil ? RemovalCause.expired : RemovalCause.mismatch
    change.report = DeviceChange.Report(device: EventDevice(token: stored.token, user: user.text), removal: reason)
    change.requiresEntry = true
    return change
  }
}

extension DeviceChange {
  fileprivate static func write(
    _ metadata: DeviceMetadata, over stored: StoredDevice, newOwner: Username? = nil, isForced: Bool = false
  ) -> DeviceChange {
    var metadata = metadata
    metadata.storedName = nil
    let sets = metadata.sets
    let left = stored.sets.filter { !sets.contains($0) }
    let report = Report(
      device: EventDevice(stored.token, metadata), before: stored.metadata.map { EventDevice(stored.token, $0) })
    return DeviceChange(
      record: .written(metadata), joined: sets, left: left, report: report, newOwner: newOwner,
      isForced: isForced || !left.isEmpty)
  }

  fileprivate static func delete(
    _ stored: StoredDevice, from set: DeviceSet? = nil, reason: String
  ) -> DeviceChange {
    let left = stored.sets + (set.map { stored.sets.contains($0) ? [] : [$0] } ?? [])
    let report = stored.metadata.map { Report(device: EventDevice(stored.token, $0), removal: reason) }
    return DeviceChange(record: .deleted, left: left, report: report, isForced: true)
  }

  fileprivate static func leave(_ set: DeviceSet) -> DeviceChange {
    DeviceChange(left: set == .user(.nobody) ? [] : [set], isForced: true)
  }
}
