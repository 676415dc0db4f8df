import PushModel
public import Redis
import Telemetry

extension Registry {
  static let conflict = RedisError.notSent("the token is being registered by others at the same time; try again")

  /// Makes a device the user's, in one atomic step; a device of another owner leaves that owner. Returns who that was.
  @discardableResult
  public func register(_ registration: Registration) async throws(RedisError) -> String? {
    try await enroll(registration).previousOwner
  }

  /// ``register(_:)`` that tells what is known of the device now.
  public func enroll(_ registration: Registration) async throws(RedisError) -> Enrollment {
    // The script must be told the keys of the previous owner and app: most devices have none, and no read comes first.
    var previous: Place = ("", registration.bundleID ?? "")
    var leaving: [Member] = []
    for attempt in 0..<Registry.maximumConflicts {
      let reply = try await call(registration, previous, leaving, isForced: attempt >= Registry.politeAttempts)
      switch reply.first?.integer {
      case 1: return enrolled(registration, reply)
      case 2:
        leaving = try await self.leaving(
          Int(reply.dropFirst().first?.integer ?? 1), of: registration.username, except: [registration.token])
      default: previous = Registry.place(reply.dropFirst())
      }
    }
    log.warn("registration gave up", ["token": .string(Log.shortened(registration.token)), "reason": "conflict"])
    throw Registry.conflict
  }

  /// An owner and an app; empty for none.
  package typealias Place = (owner: String, app: String)

  package static func place(_ reply: ArraySlice<RedisValue>) -> Place {
    (reply.first?.string ?? "", reply.dropFirst().first?.string ?? "")
  }

  private func call(
    _ registration: Registration, _ previous: Place, _ leaving: [Member], isForced: Bool
  ) async throws(RedisError) -> [RedisValue] {
    try await connection.call(
      RegistryScripts.register,
      keys: keys(of: registration, previous.owner, previous.app) + leaving.flatMap(\.keys),
      arguments: { command in
        command.append(registration.token)
        command.append(registration.username)
        command.append(registration.platform.rawValue)
        command.append(registration.now)
        command.append(registration.bundleID ?? "")
        command.append(registration.environment?.rawValue ?? "")
        command.append(previous.owner)
        command.append(previous.app)
        command.append(Registry.metadataLifetime)
        command.append(registration.isBundleAssumed ? 1 : 0)
        command.append(maximumDevices)
        command.append(isForced ? 1 : 0)
        for member in leaving { member.append(to: &command) }
      }
    ).array ?? []
  }

  private func enrolled(_ registration: Registration, _ reply: [RedisValue]) -> Enrollment {
    cleanStray(registration.token, Registry.place(reply.dropFirst(3)))
    let gone = reply.dropFirst(5).first?.integer ?? 0
    if gone > 0 {
      log.info(
        "a user has as many devices as allowed; those registered longest ago left",
        ["username": .init(registration.username), "left": .init(gone)])
    }
    let owner = reply.dropFirst().first?.string ?? ""
    return Enrollment(
      device: Ownership.named(registration.token, metadata: reply.dropFirst(2).first?.bytes),
      previousOwner: owner.isEmpty ? nil : owner)
  }

  /// Takes a token out of the sets of an owner and an app that it does not belong to any more. Should that fail, whoever
  /// resolves them does it: the metadata names neither.
  func cleanStray(_ token: String, _ place: Place) {
    let entry = Array(token.utf8)
    if !place.owner.isEmpty { clean(user: place.owner, [Removal(entry: entry, reason: .otherOwner)]) { _ in } }
    if !place.app.isEmpty { clean(app: place.app, [Removal(entry: entry, reason: .otherApp)]) { _ in } }
  }

  /// Takes a device from a user; another owner's metadata stays.
  public func unregister(token: String, username: String) async throws(RedisError) -> Unregistration {
    var app = ""
    for _ in 0..<Registry.maximumConflicts {
      let shard = AudienceShard.shard(of: token)
      let keys = [
        RegistryKeys.token(token), RegistryKeys.userTokens(username), RegistryKeys.audience(app, shard: shard),
      ]
      let reply =
        try await connection.run(
          RegistryScripts.unregister, keys: keys, arguments: [token, username, app]
        ).array ?? []
      if reply.count == 3, reply[0].integer == 1 {
        return Unregistration(removedEntry: reply[1].integer == 1, removedMetadata: reply[2].integer == 1)
      }
      app = reply.dropFirst().first?.string ?? ""
    }
    throw Registry.conflict
  }

  /// Makes a device the one active device of an instance.
  public func register(instance id: String, _ record: InstanceRecord) async throws(RedisError) {
    _ = try await connection.send(RedisCommand("SET", RegistryKeys.instance(id)).with(record.json()))
  }

  private func keys(of registration: Registration, _ previousOwner: String, _ previousApp: String) -> [String] {
    let shard = AudienceShard.shard(of: registration.token)
    return [
      RegistryKeys.token(registration.token), RegistryKeys.userTokens(registration.username),
      RegistryKeys.audience(registration.bundleID ?? "", shard: shard), RegistryKeys.userTokens(previousOwner),
      RegistryKeys.audience(previousApp, shard: shard),
    ]
  }
}
