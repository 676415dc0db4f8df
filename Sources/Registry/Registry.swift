public import EventLoop
public import Events
public import PushModel
public import Redis
public import Telemetry

/// The devices of users, apps and instances, stored in Redis. Only which users have a large set is kept in memory.
@EventLoop
public final class Registry {
  /// Maximum keys or entries of one command or script.
  nonisolated static let maximumBatch = 300

  /// Update tokens of one Live Activity, at most. More phones are reached by a channel.
  public nonisolated static let maximumActivityTokens = 1000
  /// Of them, those of one user, at most.
  public nonisolated static let maximumActivityTokensOfUser = 10

  /// Attempts while others change the same token or the same user's devices; each attempt decides on the changes of the
  /// one before.
  package nonisolated static let maximumConflicts = 32

  /// Valid values of ``maximumDevices``.
  public nonisolated static let deviceLimits = 1...1000
  public nonisolated static let defaultMaximumDevices = 100

  /// Maximum number of devices of one user in one app. Those without an app count as of one.
  public let maximumDevices: Int

  package let connection: RedisClient
  let log: Log
  /// Nil if no events are written.
  let events: EventLog?
  var largeUsers = LargeUsers()
  /// Large sets are read one at a time.
  let largeReadings = KeyedMutex<Int>()

  /// Changes devices as the kind of server allows.
  let executor: any DeviceExecutor
  let instances: InstanceExecutor
  let reader: DeviceReader

  public convenience init(
    connection: RedisClient, maximumDevices: Int = Registry.defaultMaximumDevices, events: EventLog? = nil, log: Log
  ) {
    self.init(
      connection: connection, maximumDevices: maximumDevices, isStepwise: connection.isCluster, events: events, log: log
    )
  }

  /// `isStepwise` is whether devices are changed in steps, which works on one server too.
  package init(
    connection: RedisClient, maximumDevices: Int, isStepwise: Bool, events: EventLog? = nil,
    log: Log
  ) {
    self.connection = connection
    self.maximumDevices = maximumDevices
    self.events = events
    self.log = log
    connection.preload([RegistryScripts.keepRefusalScript, RegistryScripts.keepGoneScript])
    reader = DeviceReader(connection: connection)
    instances = InstanceExecutor(connection, events: events, isCluster: isStepwise)
    executor =
      isStepwise
      ? ClusterExecutor(connection: connection, maximumDevices: maximumDevices, events: events, log: log)
      : OneServerExecutor(connection: connection, maximumDevices: maximumDevices, events: events)
  }

  // MARK: - Register

  nonisolated static let conflict = RedisError.notSent(
    "the token is being registered by others at the same time; try again")

  /// Registers a device for a user, and takes it from another owner. Returns what is known about it.
  @discardableResult
  public func register(_ registration: Registration) async throws(RedisError) -> Enrollment {
    Enrollment(try await change(registration, within: nil), of: registration.username)
  }

  /// Registers a device as ``register(_:)``; nil, and nothing is changed, if it is of an app outside of the scope.
  public func register(_ registration: Registration, within scope: AppScope?) async throws(RedisError) -> Enrollment? {
    let outcome = try await change(registration, within: scope)
    return outcome.end == .foreign ? nil : Enrollment(outcome, of: registration.username)
  }

  private func change(
    _ registration: Registration, within scope: AppScope?
  ) async throws(RedisError) -> ChangeOutcome {
    try await meet(registration.username)
    // What is known of the device by another form of its token is kept.
    if registration.platform != .android { _ = try await executor.entry(of: registration.token) }
    let (outcome, removed) = try await executor.register(registration, within: scope)
    logRemoved(removed, of: registration.username)
    return outcome
  }

  func logRemoved(_ count: Int, of user: Username) {
    guard count > 0 else { return }
    log.info(
      "a user has the maximum number of devices of an app; those registered longest ago were removed",
      ["username": .init(user.text), "removed": .init(count)])
  }

  /// Gives devices without an app this one. Returns how many were changed.
  package func assume(app: String, for tokens: [String]) async throws(RedisError) -> Int {
    try await executor.complete(tokens.map { ($0, .assume(app: app)) }).count { $0.end == .written }
  }

  // MARK: - Unregister

  /// Removes a device from a user. The metadata of another owner is kept, and a device of an app outside of the scope.
  public func unregister(
    token: DeviceToken, username: Username, within scope: AppScope? = nil
  ) async throws(RedisError) -> Unregistration {
    try await meet(username)
    let entry = try await executor.entry(of: token)
    let outcome = try await executor.complete(.unregister(username).within(scope), on: entry)
    return Unregistration(
      entries: outcome.left.contains(.user(username)) ? 1 : 0, metadata: outcome.end == .written ? 1 : 0)
  }

  /// Removes all devices from a user. The metadata of other owners is kept.
  ///
  /// Works in batches, so that Redis serves others in between.
  public func unregisterAll(username: Username) async throws(RedisError) -> Unregistration {
    try await meet(username)
    var result = Unregistration()
    var cursor: String? = "0"
    while let from = cursor {
      let page = try await reader.scan(username, from: from)
      try await unregister(try await executor.unite(page.entries), from: username, &result)
      cursor = page.next
    }
    if result.entries > 0 {
      let key = RegistryKeys.userTokens(username)
      result.isSetGone = try await connection.send(RedisCommand("EXISTS", key)).integer == 0
    }
    return result
  }

  private func unregister(
    _ entries: [[UInt8]], from username: Username, _ result: inout Unregistration
  ) async throws(RedisError) {
    let tokens = entries.filter { DeviceToken.isWellFormed($0) }
    let malformed = entries.filter { !DeviceToken.isWellFormed($0) }
    if !malformed.isEmpty {
      let removals = malformed.map { Removal(entry: $0, reason: .malformedToken) }
      result.malformedEntries += try await executor.clean(.user(username), removals)
    }
    result.hasLookedUp = result.hasLookedUp || !tokens.isEmpty
    let operations = tokens.map { (String(decoding: $0, as: UTF8.self), DeviceOperation.unregister(username)) }
    for outcome in try await executor.complete(operations) {
      if outcome.left.contains(.user(username)) { result.entries += 1 }
      if outcome.end == .written { result.metadata += 1 }
    }
  }

  // MARK: - Remove what APNs refuses

  public typealias CountCompletion = @EventLoop (Result<Int, RedisError>) -> Void

  /// Removes entries from a user's set, each only if its metadata is still missing or another user's. Passes their
  /// number.
  public func clean(user: Username, _ removals: [Removal], completion: @escaping CountCompletion) {
    complete(completion) { () async throws(RedisError) in try await self.clean(user: user, removals) }
  }

  /// Removes entries as ``clean(user:_:completion:)`` does, and returns their number.
  public func clean(user: Username, _ removals: [Removal]) async throws(RedisError) -> Int {
    try await executor.clean(.user(user), removals)
  }

  /// Removes entries from an app's audience, each only if its metadata is still missing or another app's.
  public func clean(app: String, _ removals: [Removal], completion: @escaping CountCompletion) {
    complete(completion) { () async throws(RedisError) in try await self.executor.clean(.audience(app), removals) }
  }

  /// Removes devices, each only if it has the same owner and was not registered after `notAfter`. Passes their number.
  public func removeStale(_ devices: [StaleDevice], completion: @escaping CountCompletion) {
    complete(completion) { () async throws(RedisError) in
      let now = Clock.unixMilliseconds
      return try await self.executor.complete(devices.map { ($0.token.text, .removeStale($0, now: now)) })
        .count { $0.end == .written }
    }
  }

  /// Stores what answers of APNs have shown of devices, each unless the device was registered again since. Passes how many
  /// were stored.
  public func learn(_ accepted: [AnsweredDevice], completion: @escaping CountCompletion) {
    complete(completion) { () async throws(RedisError) in
      var count = 0
      let instances = accepted.compactMap(\.instanceOperation)
      if !instances.isEmpty { count += try await self.instances.run(instances).count(where: \.isWritten) }
      let others = accepted.compactMap(\.tokenOperation)
      if !others.isEmpty { count += try await self.executor.complete(others).count { $0.end == .written } }
      return count
    }
  }

  func complete(
    _ completion: @escaping CountCompletion, with body: @escaping @EventLoop () async throws(RedisError) -> Int
  ) {
    EventLoop.start {
      do throws(RedisError) {
        completion(.success(try await body()))
      } catch {
        completion(.failure(error))
      }
    }
  }

  // MARK: - Restore a backup

  /// Writes devices unchanged, each unless the one in Redis is at least as new. One that is `isAdmitted` may be the user's
  /// however many the user has.
  package func restore(
    _ devices: [(token: DeviceToken, metadata: DeviceMetadata, isAdmitted: Bool)]
  ) async throws(RedisError) -> [Restoration] {
    for user in Set(devices.lazy.map(\.metadata.username).filter(\.hasOtherForms)) { try await meet(user) }
    let now = Clock.unixMilliseconds
    let operations = devices.map {
      ($0.token.text, DeviceOperation.restore($0.metadata, isAdmitted: $0.isAdmitted, now: now))
    }
    var results: [Restoration] = []
    for outcome in try await executor.run(operations) {
      switch outcome.end {
      case .written: results.append(outcome.before.metadata == nil ? .created : .updated)
      case .unchanged: results.append(.kept)
      case .otherType: results.append(.wrongType)
      case .full: results.append(.full)
      case .conflict, .foreign: throw Registry.conflict
      }
    }
    return results
  }

  /// Writes instances unchanged, each unless the one in Redis is at least as new. A token that another instance has stays
  /// that one's.
  package func restore(
    _ instances: [(id: String, record: InstanceRecord)]
  ) async throws(RedisError) -> [Restoration] {
    let outcomes = try await self.instances.run(instances.map { ($0.id, InstanceOperation.restore($0.record)) })
    let written = zip(instances, outcomes).filter { $1.isWritten && $0.record.isActive }
    _ = try await connection.replies(
      to: written.map { instance, _ in
        RedisCommand("SET", RegistryKeys.instanceOfToken(instance.record.token), instance.id, "NX", "EX")
          .with(DeviceKind.app.lifetime)
      })
    return outcomes.map { outcome in !outcome.isWritten ? .kept : outcome.before == nil ? .created : .updated }
  }

  /// Returns the entries of a user's set with their metadata.
  package func members(of user: Username) async throws(RedisError) -> [Registry.Member] {
    try await meet(user)
    return try await reader.members(of: user)
  }

  /// Removes these entries from a user, each unless it has changed.
  package func evict(_ members: [Registry.Member], from user: Username) async throws(RedisError) {
    _ = try await executor.clean(.user(user), members.filter { !$0.isToken }.map(\.removal))
    _ = try await executor.evict(members.filter(\.isToken), from: user)
  }

  // MARK: - The devices of a user
  //
  // Operations of docs/http/device-api.md.

  /// Replaces the token of a user's device.
  ///
  /// The new token keeps the app, the environment and the time of the first registration, and is taken from another
  /// owner. `new` may equal `current`.
  public func replace(
    token current: DeviceToken, with new: DeviceToken, of username: Username, within scope: AppScope? = nil, now: Int64
  ) async throws(RedisError) -> Replacement {
    try await meet(username)
    let (former, next) = (try await executor.entry(of: current), try await executor.entry(of: new))
    if next == former {
      return Replacement(try await executor.complete(.renew(username, now: now).within(scope), on: former))
    }
    let (outcome, removed) = try await executor.replace(
      token: former, with: next, of: username, within: scope, now: now)
    logRemoved(removed, of: username)
    return Replacement(outcome)
  }

  /// Removes a device from its owner and its app. Returns false if it is not registered for an app of the scope.
  public func forget(token: DeviceToken, within scope: AppScope? = nil) async throws(RedisError) -> Bool {
    try await executor.complete(.forget.within(scope), on: try await executor.entry(of: token)).end == .written
  }

  /// Returns up to `limit` of a user's devices after `token`, in the order of their tokens.
  ///
  /// Changes between two calls move no device to another page. At most ``maximumScanned`` entries of a set are read.
  public func devices(
    of username: Username, after token: DeviceToken?, limit: Int
  ) async throws(RedisError) -> DevicePage {
    try await meet(username)
    let last = Array((token?.text ?? "").utf8)
    let united = Set(try await executor.unite(Array(try await reader.entries(of: username))))
    let entries = united.filter { last.isEmpty || last.lexicographicallyPrecedes($0) }
      .sorted { $0.lexicographicallyPrecedes($1) }
    var rest = entries[...]
    var found = Resolution()
    while found.devices.count <= limit, !rest.isEmpty {
      let batch = rest.prefix(Registry.maximumBatch)
      rest.removeFirst(batch.count)
      for (entry, stored) in zip(batch, try await reader.stored(batch)) {
        found.apply(Ownership.decide(entry: entry, metadata: stored, owner: username))
      }
    }
    return DevicePage(
      devices: Array(found.devices.prefix(limit)), hasMore: found.devices.count > limit, removals: found.removals)
  }

  // MARK: - Resolve: who gets a push

  /// Finds the devices of all queries in one pipelined exchange. The resolutions are in the order of the queries.
  public func resolve(_ queries: [DeviceQuery], completion: @escaping @EventLoop ([Resolution]) -> Void) {
    let exchange = ResolveExchange(count: queries.count) { [self] in unite($0, of: queries, completion) }
    // Several jobs to one user share one command.
    var users: [Username: Int] = [:]
    if queries.count > 1 { users.reserveCapacity(queries.count) }
    // The tokens that producers named, of all queries together.
    var named: [ResolveExchange.Lookup] = []
    for (index, query) in queries.enumerated() {
      switch query {
      case .user(let user):
        if queries.count > 1, let first = users.updateValue(index, forKey: user) {
          users[user] = first
          exchange.repeated.append((index, first))
        } else {
          sendUser(user, index, exchange)
        }
      case .userToken(let user, let token):
        lookForOtherForm(of: user, index, exchange)
        sendUserToken(user, token.text, else: token.upperCased, index, exchange)
      case .token(let token): named.append((index, .named(token)))
      case .tokens(let tokens): for token in tokens { named.append((index, .named(token))) }
      case .instance(let id): sendInstance(id, index, exchange)
      case .activity(let id): sendActivity(id, index, exchange)
      }
    }
    send(named, exchange)
    exchange.close()
  }

  /// Resolves one query. Reads the size of a user's set before the set.
  public func resolve(_ query: DeviceQuery) async -> Resolution {
    if case .user(let user) = query {
      do throws(RedisError) {
        let size = try await connection.send(RedisCommand("SCARD", RegistryKeys.userTokens(user))).integer ?? 0
        if size > Registry.maximumResolved { largeUsers.insert(user) }
      } catch {
        return Resolution(error: error)
      }
    }
    return await withCheckedContinuation { continuation in
      resolve([query]) { [self] resolutions in
        guard let user = resolutions[0].largeUser else { return continuation.resume(returning: resolutions[0]) }
        resolveLarge(user) { continuation.resume(returning: $0) }
      }
    }
  }

  /// Reads the entries of a user's set. SRANDMEMBER returns the whole set if that is not larger than the count.
  private func sendUser(_ user: Username, _ index: Int, _ exchange: ResolveExchange) {
    guard !largeUsers.contains(user) else { return exchange.setLarge(user, index) }
    lookForOtherForm(of: user, index, exchange)
    exchange.expect()
    exchange.unread += 1
    let command = RedisCommand("SRANDMEMBER").with(RegistryKeys.userTokens(user)).with(Registry.maximumResolved + 1)
    connection.send(command) { [self] result in
      let entries = (try? result.get())?.array?.compactMap(\.bytes) ?? []
      if entries.count > Registry.maximumResolved {
        largeUsers.insert(user)
        exchange.setLarge(user, index)
      } else {
        for entry in entries { exchange.owned.append((index, .owned(entry, user: user))) }
      }
      exchange.unread -= 1
      if exchange.unread == 0 { send(exchange.owned, exchange) }
      exchange.answer(index, result) { _, _ in }
    }
  }

  private func lookForOtherForm(of user: Username, _ index: Int, _ exchange: ResolveExchange) {
    guard let form = user.decomposed else { return }
    exchange.expect()
    connection.send(RedisCommand("SCARD", RegistryKeys.userTokens(form: form.text))) { result in
      exchange.answer(index, form: form, result)
    }
  }

  /// Reads the metadata of tokens, then that of other forms of those that are not registered.
  private func send(_ lookups: [ResolveExchange.Lookup], _ exchange: ResolveExchange) {
    for batch in lookups.batches(of: Registry.maximumBatch) {
      var command = RedisCommand("MGET")
      for lookup in batch { lookup.token.appendKey(to: &command) }
      exchange.expect()
      connection.send(command) { [self] result in
        send(exchange.otherForms(batch, result), exchange)
        exchange.answer(batch, result)
      }
    }
  }

  /// `other` is another form of the token, which counts if the user has no device under this one.
  private func sendUserToken(
    _ user: Username, _ token: String, else other: String?, _ index: Int, _ exchange: ResolveExchange
  ) {
    // On a cluster the replies arrive in any order.
    var isMember: Bool?
    var metadata: RedisValue?
    func apply(_ resolution: inout Resolution) {
      guard let isMember, let metadata else { return }
      if isMember {
        resolution.apply(Ownership.decide(entry: Array(token.utf8), metadata: metadata.bytes, owner: user))
      }
      if let other, !isMember || metadata.bytes == nil { sendUserToken(user, other, else: nil, index, exchange) }
    }
    exchange.expect()
    connection.send(RedisCommand("SISMEMBER", RegistryKeys.userTokens(user), token)) { result in
      exchange.answer(index, result) { resolution, value in
        isMember = value.integer == 1
        apply(&resolution)
      }
    }
    exchange.expect()
    connection.send(RedisCommand("GET", RegistryKeys.token(entry: token))) { result in
      exchange.answer(index, result) { resolution, value in
        metadata = value
        apply(&resolution)
      }
    }
  }

  private func sendInstance(_ id: String, _ index: Int, _ exchange: ResolveExchange) {
    exchange.expect()
    connection.send(RedisCommand("GET", RegistryKeys.instance(id))) { result in
      exchange.answer(index, result) { resolution, value in
        guard let record = value.bytes.flatMap(InstanceRecord.init(parsing:)), record.isReachable else { return }
        resolution.devices.append(
          Device(
            token: record.token, bundleID: record.bundleID, environment: record.environment,
            updatedAt: record.updatedAt, kind: .app, unreachable: record.unreachable))
      }
    }
  }

  private func sendActivity(_ id: String, _ index: Int, _ exchange: ResolveExchange) {
    exchange.expect()
    let command = RedisCommand("HKEYS", RegistryKeys.activityTokens(id))
    connection.send(command) { [self] result in
      let tokens = (try? result.get())?.array?.compactMap(\.bytes) ?? []
      send(tokens.map { (index, .ofActivity($0, id: id)) }, exchange)
      exchange.answer(index, result) { _, _ in }
    }
  }

  // MARK: - Instances
  //
  // A token is one instance's at most: that which registered it last.

  /// Replaces the device of an instance, and takes its token from another instance.
  public func register(instance id: String, _ record: InstanceRecord) async throws(RedisError) {
    let key = RegistryKeys.instanceOfToken(record.token)
    let claim = RedisCommand("SET", key, id, "EX").with(DeviceKind.app.lifetime).with("GET")
    var former = try await connection.send(claim).string
    // Earlier sidecars have stored the token in the form that the app used.
    if former == nil, let other = record.token.upperCased {
      former = try await connection.send(RedisCommand("GET", RegistryKeys.holder(of: other))).string
    }
    if let former, former != id {
      let loss = InstanceOperation.deactivate(
        token: record.token, notAfter: record.updatedAt, reason: RemovalCause.replaced)
      _ = try await instances.run([(former, loss)])
    }
    _ = try await instances.run([(id, .register(record))])
    // Another instance may have registered it meanwhile, and have found the record that is replaced now.
    guard let owner = try await instance(ofToken: record.token), owner != id else { return }
    let loss = InstanceOperation.deactivate(
      token: record.token, notAfter: record.updatedAt, reason: RemovalCause.replaced)
    _ = try await instances.run([(id, loss)])
  }

  /// Returns the instance that registered the token last; nil if none did.
  public func instance(ofToken token: DeviceToken) async throws(RedisError) -> String? {
    try await connection.send(RedisCommand("GET", RegistryKeys.instanceOfToken(token))).string
  }

  /// Removes the device of an instance. Returns false if it has none.
  public func unregister(instance id: String) async throws(RedisError) -> Bool {
    try await instances.run([(id, .unregister)]).contains(where: \.isWritten)
  }

  /// Stops pushes to an instance, or allows them again.
  public func suspend(instance id: String, _ isSuspended: Bool) async throws(RedisError) {
    _ = try await instances.run([(id, .suspend(isSuspended))])
  }

  /// Marks the record of an instance inactive if it still has this token and was not registered after `notAfter` (unix
  /// ms). Passes the number of records marked: 0 or 1.
  public func deactivate(
    instance id: String, token: DeviceToken, notAfter: Int64, reason: String = StaleDevice.unknownReason,
    completion: @escaping CountCompletion
  ) {
    let operation = InstanceOperation.deactivate(token: token, notAfter: notAfter, reason: reason)
    complete(completion) { () async throws(RedisError) in
      try await self.instances.run([(id, operation)]).count(where: \.isWritten)
    }
  }

  // MARK: - The tokens of Live Activities
  //
  // The tokens of Live Activities. They are devices: they change hands, expire and are removed as all others are.

  /// Registers an update token of a Live Activity, or a push-to-start token, as ``register(_:)``. The user's oldest update
  /// token leaves the activity if there are ``maximumActivityTokensOfUser``. Registers nothing if the activity has
  /// ``maximumActivityTokens`` others.
  /// - Parameter isExpected: Whether the activity is known to be this user's: others cannot fill it then.
  public func register(
    activityToken registration: Registration, isExpected: Bool = false, within scope: AppScope? = nil
  ) async throws(RedisError) -> ActivityEnrollment {
    var formers: [Device] = []
    if registration.kind == .activity, let activity = registration.activity {
      let known = try await activityDevices(activity)
      let others = known.filter { $0.token != registration.token }
      let isNew = known.count == others.count
      guard isExpected || !isNew || others.count < Registry.maximumActivityTokens else { return .full }
      // A former one of the same phone is replaced by the registration.
      let own = others.filter {
        $0.username == registration.username && ($0.deviceID == nil || $0.deviceID != registration.deviceID)
      }.sorted { $0.updatedAt > $1.updatedAt }
      formers = Array(own.dropFirst(Registry.maximumActivityTokensOfUser - 1))
    }
    guard try await register(registration, within: scope) != nil else { return .foreign }
    for former in formers {
      _ = try await unregister(token: former.token, username: registration.username, within: scope)
    }
    return .done
  }

  /// The devices that have registered an update token of the activity.
  public func activityDevices(_ id: String) async throws(RedisError) -> [Device] {
    let resolution = await resolve(.activity(id))
    if let error = resolution.error { throw error }
    return resolution.devices
  }
}
