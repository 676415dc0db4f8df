import EventLoop
import Events
import PushModel
import Redis

/// An operation, and the entry under which its device is stored: a token, or another form of it.
typealias TokenOperation = (token: String, operation: DeviceOperation)

/// Carries out what ``DeviceOperation`` decides.
@EventLoop
protocol DeviceExecutor: AnyObject {
  var reader: DeviceReader { get }
  /// How many devices a user may have in one app.
  var maximumDevices: Int { get }

  /// Carries out up to ``Registry/maximumBatch`` operations, each on its own, and returns their outcomes in the same
  /// order.
  func run(batch: [TokenOperation]) async throws(RedisError) -> [ChangeOutcome]

  /// Registers a device. Returns how many other devices of the user have made room, too.
  func register(
    _ registration: Registration, within scope: AppScope?
  ) async throws(RedisError) -> (outcome: ChangeOutcome, removed: Int)

  /// Replaces the token of a user's device by another one. Returns the outcome of the new device, or nil if the user has no
  /// device `current`, and how many other devices have made room.
  func replace(
    token current: String, with new: String, of user: Username, within scope: AppScope?, now: Int64
  ) async throws(RedisError) -> (outcome: ChangeOutcome?, removed: Int)
}

/// What became of an operation.
struct ChangeOutcome: Sendable, Equatable {
  enum End: Sendable, Equatable {
    case unchanged, written
    /// The user has the maximum number of devices, so others must make room.
    case full
    /// The device is of an app that the credential is not for.
    case foreign
    /// A key has another type than this set.
    case otherType(DeviceSet)
    /// Others changed the token too often.
    case conflict
  }

  var end = End.unchanged
  var before: StoredDevice
  /// The device as it is stored now.
  var after: StoredDevice
  /// The sets that contained the token and do not any more.
  var left: Set<DeviceSet> = []

  init(end: End = .unchanged, before: StoredDevice) {
    self.end = end
    self.before = before
    after = before
  }

  /// The error of an operation that was not completed.
  var error: RedisError? {
    switch end {
    case .unchanged, .written, .full, .foreign: nil
    case .conflict: Registry.conflict
    case .otherType(let set):
      .reply(RedisReplyError(message: "WRONGTYPE \(set.key(of: before.token)) is not a \(set.type)"))
    }
  }
}

extension DeviceExecutor {
  /// Carries out operations, each on its own, and returns their outcomes in the same order.
  func run(_ operations: [TokenOperation]) async throws(RedisError) -> [ChangeOutcome] {
    var outcomes: [ChangeOutcome] = []
    for batch in operations.batches(of: Registry.maximumBatch) { outcomes += try await run(batch: Array(batch)) }
    return outcomes
  }

  /// Carries out operations, and throws if one of them was not completed.
  func complete(_ operations: [TokenOperation]) async throws(RedisError) -> [ChangeOutcome] {
    let outcomes = try await run(operations)
    if let error = outcomes.lazy.compactMap(\.error).first { throw error }
    return outcomes
  }

  /// Carries out one operation.
  func complete(_ operation: DeviceOperation, on token: String) async throws(RedisError) -> ChangeOutcome {
    guard let outcome = try await complete([(token, operation)]).first else { throw Registry.conflict }
    return outcome
  }

  /// Removes entries from a set, each only if its metadata is still missing or another's. Unites those that are other forms of
  /// tokens with the tokens. Returns their number.
  func clean(_ set: DeviceSet, _ removals: [Removal]) async throws(RedisError) -> Int {
    var removed = 0
    // An entry that is not a token has no metadata that others could change.
    let malformed = removals.filter { $0.reason == .malformedToken }.map(\.entry)
    for (key, entries) in Dictionary(grouping: malformed, by: set.key) {
      for batch in entries.batches(of: Registry.maximumBatch) {
        var command = set.removal(from: key)
        for entry in batch { command.append(entry) }
        removed += try await reader.connection.send(command).count ?? 0
      }
    }
    let others = removals.filter { $0.reason == .otherForm }.map(\.entry)
    if !others.isEmpty { removed += zip(others, try await unite(others)).count { $0 != $1 } }
    let tokens = removals.filter { $0.reason != .malformedToken && $0.reason != .otherForm }
      .map { String(decoding: $0.entry, as: UTF8.self) }
    return removed + (try await complete(tokens.map { ($0, .clean(set)) })).count { $0.left.contains(set) }
  }

  /// Removes devices of a user, each unless it has changed, while the user has more than `limit`. Returns how many were
  /// removed.
  func evict(
    _ members: some Collection<Registry.Member>, from user: Username, keeping limit: Int = 0,
    because reason: String = RemovalCause.limit
  ) async throws(RedisError) -> Int {
    let outcomes = try await complete(members.map { $0.eviction(from: user, keeping: limit, because: reason) })
    return outcomes.count { $0.left.contains(.user(user)) }
  }

  /// Gives the other tokens of a phone to the user whose app token there is about to become another's, in place of those that the
  /// user had there before. Before it does, so that whoever repeats an interrupted registration does this, too.
  func bringAlong(
    _ phone: String, of stored: StoredDevice, to owner: Username, within scope: AppScope?
  ) async throws(RedisError) {
    let former = stored.owner
    let others = try await reader.members(of: former).filter {
      $0.metadata?.deviceID == phone && $0.token != stored.token
    }
    let following = DeviceOperation.follow(deviceID: phone, from: former, to: owner).within(scope)
    let followed = try await complete(others.map { ($0.token, following) }).filter { $0.end == .written }
      .compactMap(\.after.metadata)
    guard !followed.isEmpty else { return }
    let replaced = try await reader.members(of: owner).filter { member in
      guard let former = member.metadata, !others.contains(where: { $0.token == member.token }) else { return false }
      return followed.contains { $0.takesPlace(of: former) }
    }
    _ = try await evict(replaced, from: owner, because: RemovalCause.newToken)
  }

  /// Reads the devices of a user, and decides which must make room for one of `limitGroup`. Removes entries that are not the
  /// user's, up to ``Registry/maximumBatch``. The new device, which may have joined the set already, and one that it
  /// replaces, are `tokens`.
  func room(
    in user: Username, for limitGroup: DeviceLimitGroup, joining: StoredDevice? = nil, except tokens: [String],
    hasJoined: Bool = false
  ) async throws(RedisError) -> DeviceRoom {
    let all = try await reader.members(of: user)
    let strangers = all.filter { $0.metadata == nil && !tokens.contains($0.token) }.prefix(Registry.maximumBatch)
    if !strangers.isEmpty { _ = try await clean(.user(user), strangers.map(\.removal)) }
    let removed = Set(strangers.map(\.entry))
    return DeviceRoom(
      among: all.filter { !removed.contains($0.entry) }, joining: joining, for: limitGroup, except: tokens,
      hasJoined: hasJoined, limit: maximumDevices)
  }
}

// Names of users that other programs have stored in another form than the one.
extension DeviceExecutor {
  /// Brings all devices under another form of a user's name into the user's set, in which they are never too many, and empties the
  /// other set. Returns the number of its entries.
  ///
  /// A device is in the user's set before it leaves the other: after a crash it is in both, and whoever meets the other repeats it.
  func unite(form: ExactText) async throws(RedisError) -> Int {
    var (count, cursor): (Int, String?) = (0, "0")
    while let from = cursor {
      let page = try await reader.scan(RegistryKeys.userTokens(form: form.text), from: from)
      _ = try await unite(page.entries)
      let removals = page.entries.map {
        Removal(entry: $0, reason: DeviceToken.isWellFormed($0) ? .otherOwner : .malformedToken)
      }
      _ = try await clean(.userForm(form), removals.filter { $0.reason == .malformedToken })
      let tokens = removals.filter { $0.reason != .malformedToken }.map { String(decoding: $0.entry, as: UTF8.self) }
      _ = try await complete(tokens.map { ($0, .unite(form: form)) })
      count += page.entries.count
      cursor = page.next
    }
    return count
  }
}

// Tokens that other programs have stored in another form than their own.
extension DeviceExecutor {
  /// Makes one device of each of these entries of a set and its token: the newer registration stays, under the token. Returns the
  /// entries with their tokens in place of other forms.
  ///
  /// The token has the metadata before the other form loses it: after a crash there are both, and whoever finds them repeats it.
  func unite(_ entries: [[UInt8]]) async throws(RedisError) -> [[UInt8]] {
    let others = entries.filter { !DeviceToken.isOwnForm($0) }
    guard !others.isEmpty else { return entries }
    var stored: [StoredDevice] = []
    for batch in others.batches(of: Registry.maximumBatch) {
      stored += try await reader.devices(batch.map { String(decoding: $0, as: UTF8.self) })
    }
    let found = stored.filter(\.isOtherForm)
    let now = Clock.unixMilliseconds
    _ = try await complete(
      found.compactMap { device in device.metadata.map { (device.ownToken, .adopt($0, now: now)) } })
    _ = try await complete(found.map { ($0.token, .discard(stored: $0.bytes)) })
    let tokens = Dictionary(found.map { (Array($0.token.utf8), Array($0.ownToken.utf8)) }) { first, _ in first }
    return entries.map { tokens[$0] ?? $0 }
  }

  /// Returns the entry under which the device is stored: another form only of an android device, which has no other. Unites what
  /// is stored under another form with the token.
  func entry(of token: DeviceToken) async throws(RedisError) -> String {
    guard let other = token.upperCased, !(try await reader.device(other).bytes.isEmpty) else { return token.text }
    let entry = try await unite([Array(other.utf8)])[0]
    return String(decoding: entry, as: UTF8.self)
  }
}

extension StoredDevice {
  /// Whether the entry is another form of a token of APNs. Nothing is known of one without metadata.
  fileprivate var isOtherForm: Bool {
    guard let metadata, metadata.platform != .android else { return false }
    return ownToken != token
  }

  fileprivate var ownToken: String { DeviceToken(token).text }
}
