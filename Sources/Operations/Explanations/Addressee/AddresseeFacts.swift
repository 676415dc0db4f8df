import EventLoop
import JSON
import Jobs
import PushModel
import Queue
public import Redis
public import Registry

/// A device, or an entry of a set that should be one.
public struct DeviceFacts: Sendable, Equatable {
  /// A token, unless the entry is none.
  public let token: String
  /// The registration; nil if there is none, or if it cannot be read.
  public internal(set) var metadata: DeviceMetadata?
  /// Why the entry is not a device of its owner; nil if it is.
  var removal: Removal.Reason?
  /// What APNs refused last.
  public internal(set) var refusal: RefusalNote?
  /// The instance whose device it is; nil for a device of a user, an app or nobody.
  public internal(set) var instance: String?
  /// Whether the device of an instance must be registered again.
  public internal(set) var isStale = false
  /// Whether the credential of its instance is disabled or revoked.
  var isSuspended = false

  /// Whether it is a device of the addressee.
  var isDevice: Bool { metadata != nil && removal == nil }

  /// The topic under which APNs accepts the token; nil if it was registered for no app.
  var topic: String? {
    guard let metadata, let app = metadata.bundleID else { return nil }
    return metadata.kind.topic(bundleID: app)
  }
}

extension DeviceKind {
  /// The topic under which APNs accepts tokens of this kind.
  func topic(bundleID: String) -> String {
    PushType.allCases.first { $0.isSent(to: self) }?.topic(bundleID: bundleID) ?? bundleID
  }
}

/// What the live workers say about what they push to.
struct FleetFacts {
  var workers: [String: WorkerReport] = [:]

  private var apps: [AppsReport] { workers.values.compactMap(\.apps) }

  /// Whether no worker pushes to anything.
  var isPollingOnly: Bool { !apps.isEmpty && apps.allSatisfy(\.isPollingOnly) }

  /// Whether some worker pushes to the app; nil if that is unknown.
  func serves(_ bundleID: String) -> Bool? {
    let answers = apps.map { $0.serves(bundleID) }
    if answers.contains(true) { return true }
    return answers.isEmpty || answers.contains(nil) ? nil : false
  }

  /// The app of devices that name none; nil if there is none or no worker tells.
  var defaultApp: String? { apps.lazy.compactMap(\.defaultApp).first }

  /// Whether devices that name no app have none.
  var hasNoDefaultApp: Bool { !apps.isEmpty && apps.allSatisfy { $0.defaultApp == nil } }

  /// The environment in which devices of an app are tried whose own is unknown; nil if no worker tells.
  func environment(of app: String?) -> PushEnvironment? {
    let own = workers.values.lazy.flatMap(\.appStates).first { state in
      app.map { state.bundleIDs.contains($0) } ?? false
    }
    return own?.environment ?? apps.first.flatMap { PushEnvironment(named: $0.defaultEnvironment) }
  }

  /// The longest pause of the route to a topic.
  func pausedRoute(of topic: String, _ environment: PushEnvironment?) -> RouteNotice? {
    workers.values.flatMap(\.pausedRoutes)
      .filter { (environment == nil || $0.environment == environment) && $0.topic == topic }
      .min { $0.since < $1.since }
  }
}

/// A notification that was not pushed, from the records for polling.
struct MissedNotification: Equatable {
  var jobID: String
  var status: String
  /// Unix ms.
  var at: Int64
}

/// What Redis knows of an addressee.
public struct AddresseeFacts {
  /// Devices of a user that an explanation looks at, at most.
  private static let maximumExplained = 100

  var addressee: InspectedAddressee
  /// Of a user: the entries of its set that were read, in their order. Of a token: its registration, and the instance whose
  /// device it is.
  var devices: [DeviceFacts] = []
  /// Entries of a user's set.
  var setSize: Int64 = 0
  /// Whether the owner of a token has it in its set.
  var isInSetOfOwner = true
  /// Why the last device of a user that APNs called stale was removed.
  var removal: RefusalNote?
  /// The latest notification that no push carried.
  var missed: MissedNotification?
  var parts: [PartFacts] = []
  var fleet = FleetFacts()
  var showsWholeTokens = false
  var text: TimeText

  func shown(_ token: String) -> String { showsWholeTokens ? token : Words.shortened(token) }

  /// The devices of the addressee, in the order of their tokens.
  public var registered: [DeviceFacts] { devices.filter(\.isDevice) }

  /// Pages of the dashboard with more about the addressee.
  public var pages: [PageReference] { parts.compactMap(\.page) }

  /// Whether ``registered`` has all of them.
  public var isComplete: Bool { setSize <= devices.count }

  public var explanation: AddresseeExplanation {
    var facts = self
    facts.devices = Array(devices.prefix(AddresseeFacts.maximumExplained))
    return AddresseeExplanation(facts)
  }
}

/// Explains why a user, a token or an instance gets pushes or gets none.
extension FleetQueues {
  /// Entries of a user's set that are read, at most: no user may have more devices.
  private static let maximumEntries = 1000
  /// Keys of one command.
  private static let maximumKeys = 300

  /// Reads what is known of an addressee. Ids and tokens may be any text.
  /// `explainers` are those of parts.
  public func facts(
    of addressee: InspectedAddressee, in registry: Registry, _ explainers: [any AddresseeExplainer],
    showsWholeTokens: Bool
  ) async throws(RedisError) -> AddresseeFacts {
    let text = TimeText(now: Clock.unixMilliseconds)
    var facts = AddresseeFacts(addressee: addressee, showsWholeTokens: showsWholeTokens, text: text)
    facts.fleet = FleetFacts(workers: try await QueueOverview.read(names, from: connection).workers)
    switch addressee {
    case .user(let name): try await readUser(name, registry, &facts)
    case .token(let token): try await readToken(token, registry, &facts)
    case .instance(let id): try await readInstance(id, &facts)
    }
    for explainer in explainers {
      if let found = try await explainer.facts(of: facts.addressee, connection, text) { facts.parts.append(found) }
    }
    return facts
  }

  // MARK: - User

  private func readUser(
    _ name: Username, _ registry: Registry, _ facts: inout AddresseeFacts
  ) async throws(RedisError) {
    try await registry.meet(name)
    let key = RegistryKeys.userTokens(name)
    facts.setSize = try await value(RedisCommand("SCARD", key))?.integer ?? 0
    // The whole set, if it is not larger than the count.
    let sample = RedisCommand("SRANDMEMBER", key).with(FleetQueues.maximumEntries)
    let entries = Set(try await registry.unite((try await value(sample)?.array ?? []).compactMap(\.bytes)))
      .sorted { $0.lexicographicallyPrecedes($1) }
    let metadata = try await values(entries.map { RegistryKeys.token($0) })
    let notes = try await notes(entries)
    for (place, entry) in entries.enumerated() {
      var device = FleetQueues.device(entry, metadata[place], owner: name)
      device.refusal = notes[place]
      facts.devices.append(device)
    }
    facts.removal = try await values([Array(RegistryKeys.removal(name).utf8)])[0].flatMap(RefusalNote.init(parsing:))
    facts.missed = try await missed(QueueKeys.notifications(name))
  }

  private static func device(_ entry: [UInt8], _ metadata: [UInt8]?, owner: Username) -> DeviceFacts {
    var device = DeviceFacts(token: String(decoding: entry, as: UTF8.self))
    device.metadata = metadata.flatMap(DeviceMetadata.init(parsing:))
    if case .remove(let removal) = Ownership.decide(entry: entry, metadata: metadata, owner: owner) {
      device.removal = removal.reason
    }
    return device
  }

  // MARK: - Token

  private func readToken(
    _ text: String, _ registry: Registry, _ facts: inout AddresseeFacts
  ) async throws(RedisError) {
    guard DeviceToken.isWellFormed(text) else {
      facts.devices = [DeviceFacts(token: text, removal: .malformedToken)]
      return
    }
    let found = await registry.resolve(.token(DeviceToken(text)))
    if let error = found.error { throw error }
    let token = found.devices.first?.token ?? DeviceToken(text)
    facts.addressee = .token(token.text)
    let bytes = Array(token.text.utf8)
    let stored = try await values([RegistryKeys.token(bytes)])[0]
    let note = try await notes([bytes])[0]
    let owner = try await values([Array(RegistryKeys.instanceOfToken(token).utf8)])[0]
    let instance = owner.map { String(decoding: $0, as: UTF8.self) }
    var ofInstance: DeviceFacts?
    if let instance, let device = try await device(ofInstance: instance), device.token == token.text {
      ofInstance = device
    }
    defer { facts.devices += ofInstance.map { [$0] } ?? [] }
    guard stored != nil || (note != nil && ofInstance == nil) else { return }
    var device = DeviceFacts(token: token.text, metadata: stored.flatMap(DeviceMetadata.init(parsing:)), refusal: note)
    if stored != nil, device.metadata == nil { device.removal = .invalidMetadata }
    if let owner = device.metadata?.username, !owner.isEmpty {
      let command = RedisCommand("SISMEMBER", RegistryKeys.userTokens(owner), token.text)
      facts.isInSetOfOwner = try await value(command)?.integer == 1
    }
    facts.devices = [device]
  }

  // MARK: - Instance

  private func readInstance(
    _ id: String, _ facts: inout AddresseeFacts
  ) async throws(RedisError) {
    facts.missed = try await missed(QueueKeys.instanceNotifications(id))
    if let device = try await device(ofInstance: id) { facts.devices = [device] }
  }

  private func device(ofInstance id: String) async throws(RedisError) -> DeviceFacts? {
    let stored = try await value(RedisCommand("GET", RegistryKeys.instance(id)))?.contents
    guard let record = stored.flatMap(InstanceRecord.init(parsing:)) else { return nil }
    var metadata = DeviceMetadata(
      username: "", platform: .ios, updatedAt: record.updatedAt, bundleID: record.bundleID,
      environment: record.environment)
    metadata.unreachable = record.unreachable
    let note = try await notes([Array(record.token.text.utf8)])[0]
    return DeviceFacts(
      token: record.token.text, metadata: metadata, refusal: note, instance: id, isStale: !record.isActive,
      isSuspended: record.isSuspended)
  }

  // MARK: - Shared

  /// Returns the reply; nil if the key has another type.
  private func value(_ command: RedisCommand) async throws(RedisError) -> RedisValue? {
    do {
      return try await connection.send(command)
    } catch  where error.isWrongType {
      return nil
    }
  }

  /// The values of keys, in their order; nil for those that are absent.
  private func values(_ keys: [[UInt8]]) async throws(RedisError) -> [[UInt8]?] {
    var found: [[UInt8]?] = []
    while found.count < keys.count {
      let part = keys[found.count...].prefix(FleetQueues.maximumKeys)
      let values = (try await connection.send(RedisCommand("MGET", Array(part))).array ?? []).map(\.contents)
      found += values.count == part.count ? values : part.map { _ in nil }
    }
    return found
  }

  /// What APNs refused last, for each token.
  private func notes(_ tokens: [[UInt8]]) async throws(RedisError) -> [RefusalNote?] {
    try await values(tokens.map { Array(RegistryKeys.refusals.utf8) + $0 }).map {
      $0.flatMap(RefusalNote.init(parsing:))
    }
  }

  /// The latest notification record of a stream.
  private func missed(_ stream: String) async throws(RedisError) -> MissedNotification? {
    let command = RedisCommand("XREVRANGE", stream, "+", "-", "COUNT", "1")
    let entry = try await value(command)?.array?.first?.array
    guard let bytes = entry?.last?.array?.last?.bytes else { return nil }
    let record: JSONValue
    do { record = try JSONValue(parsing: bytes) } catch { return nil }
    guard let id = record["id"]?.string, let status = record["status"]?.string else { return nil }
    return MissedNotification(jobID: id, status: status, at: record["at"]?.time ?? 0)
  }
}
