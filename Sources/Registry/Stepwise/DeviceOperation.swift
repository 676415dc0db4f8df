import Events

/// What is to be done with one token. Decides the same as the scripts of one server.
enum DeviceOperation: Sendable, Equatable {
  case register(Registration)
  /// Gives the token this metadata, whoever has it.
  case take(DeviceMetadata)
  /// Registers a device of this user again with its own data, at this time (unix ms).
  case renew(String, now: Int64)
  /// Gives the token back what it had before, if it still has the metadata `written`.
  case giveBack(DeviceMetadata?, written: [UInt8])
  /// Removes the device, if it is registered.
  case forget
  /// Removes the device from a user. Another owner keeps it. The reason is for the event.
  case unregister(String, reason: String = RemovalCause.unregistered)
  case removeStale(StaleDevice)
  /// Writes the metadata, unless the one in Redis is at least as new, or the user has many devices and this one is not
  /// admitted.
  case restore(DeviceMetadata, isAdmitted: Bool)
  /// Removes the device from the set of `user` if the set has more than `limit` entries and the metadata is `stored`.
  case evict(user: String, stored: [UInt8], above: Int)
  /// Removes the token from a set, unless its metadata names the set.
  case clean(DeviceSet)
  /// Adds the token to the sets that its metadata names.
  case repair

  enum Decision: Equatable {
    case nothing
    /// Keeps the metadata, and removes the token from these sets, or adds it, as the metadata says.
    case keep([DeviceSet])
    /// Writes metadata; nil deletes it. The token leaves the sets of its former metadata, and `leaving`.
    case write(DeviceMetadata?, leaving: [DeviceSet] = [])
  }

  func decide(_ stored: StoredDevice) -> Decision {
    switch self {
    case .register(let registration): DeviceOperation.register(registration, stored)
    case .take(let metadata): .write(metadata)
    case .renew(let user, let now):
      stored.owner == user ? stored.exchanged(at: now).map { .write($0) } ?? .nothing : .nothing
    case .giveBack(let metadata, let written): stored.bytes == written ? .write(metadata) : .nothing
    case .forget: stored.metadata == nil ? .nothing : .write(nil)
    case .unregister(let user, _):
      stored.owner == user && stored.metadata != nil
        ? .write(nil, leaving: [.user(user)]) : .keep(user.isEmpty ? [] : [.user(user)])
    case .removeStale(let device): DeviceOperation.removeStale(device, stored)
    case .restore(let metadata, _): DeviceOperation.restore(metadata, stored)
    case .evict(let user, let read, _):
      stored.bytes != read
        ? .nothing : stored.owner == user ? .write(nil, leaving: [.user(user)]) : .keep([.user(user)])
    case .clean(let place): stored.places.contains(place) ? .nothing : .keep([place])
    case .repair: .keep(stored.places)
    }
  }

  private static func register(_ registration: Registration, _ stored: StoredDevice) -> Decision {
    let given = registration.bundleID ?? ""
    // An anonymous registration takes a device neither from its owner nor from its app.
    if registration.username.isEmpty, !stored.owner.isEmpty || (!stored.app.isEmpty && stored.app != given) {
      return .nothing
    }
    let keepsApp = given.isEmpty || (registration.isBundleAssumed && !stored.app.isEmpty)
    let app = keepsApp ? stored.app : given
    return .write(
      DeviceMetadata(
        username: registration.username, platform: registration.platform, updatedAt: registration.now,
        bundleID: app.isEmpty ? nil : app, environment: registration.environment ?? stored.metadata?.environment,
        createdAt: stored.metadata?.createdAt ?? registration.now))
  }

  private static func removeStale(_ device: StaleDevice, _ stored: StoredDevice) -> Decision {
    var places: [DeviceSet] = []
    if !device.owner.isEmpty { places.append(.user(device.owner)) }
    if let app = device.bundleID, !app.isEmpty { places.append(.audience(app)) }
    if let metadata = stored.metadata, metadata.username == device.owner, metadata.updatedAt <= device.notAfter {
      return .write(nil, leaving: places)
    }
    return stored.exists ? .nothing : .keep(places)
  }

  private static func restore(_ metadata: DeviceMetadata, _ stored: StoredDevice) -> Decision {
    if let former = stored.metadata {
      if former.updatedAt >= metadata.updatedAt { return .nothing }
      if metadata.username.isEmpty, !former.username.isEmpty { return .nothing }
    }
    return .write(metadata)
  }

  /// The reason of the event if the operation removes the device; nil if it makes no events.
  var removalCause: String? {
    switch self {
    case .unregister(_, let reason): reason
    case .removeStale(let device): device.reason
    case .evict: RemovalCause.limit
    case .giveBack: RemovalCause.replaced
    case .register, .take, .renew, .forget, .clean, .repair: RemovalCause.unregistered
    case .restore: nil
    }
  }

  /// Whether others' changes to the token, however many, cannot stop this operation.
  var prevails: Bool {
    switch self {
    case .register(let registration): !registration.username.isEmpty
    case .take, .forget: true
    default: false
    }
  }

  /// Whether Redis must accept it also when it is full, because it only removes or replaces.
  var shrinks: Bool {
    switch self {
    case .register, .restore: false
    case .take, .renew, .giveBack, .forget, .unregister, .removeStale, .evict, .clean, .repair: true
    }
  }
}
