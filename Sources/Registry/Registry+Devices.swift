public import Redis

/// What docs/http/device-api.md asks for beside a registration. Usernames are normalised already.
extension Registry {
  /// Gives a user's device another token, in one atomic step: the new one takes over the app, the environment and when it
  /// began, and leaves an owner it had. The same token again is a refresh. Nil, and nothing changed, when the user has no
  /// device `current`.
  public func replace(
    token current: String, with new: String, of username: String, now: Int64
  ) async throws(RedisError) -> Device? {
    // Owner and app of a token that is fresh are empty; the app of the current one takes a second try.
    var known = (app: "", owner: "", left: "")
    var leaving: [Member] = []
    for attempt in 0..<Registry.maximumConflicts {
      let (shard, newShard) = (AudienceShard.shard(of: current), AudienceShard.shard(of: new))
      let keys = [
        RegistryKeys.token(current), RegistryKeys.token(new), RegistryKeys.userTokens(username),
        RegistryKeys.audience(known.app, shard: shard), RegistryKeys.audience(known.app, shard: newShard),
        RegistryKeys.userTokens(known.owner), RegistryKeys.audience(known.left, shard: newShard),
      ]
      let arguments = [
        current, new, username, String(now), known.app, known.owner, known.left, String(Registry.metadataLifetime),
        String(maximumDevices), attempt < Registry.politeAttempts ? "0" : "1",
      ]
      let reply =
        try await connection.call(
          RegistryScripts.replace, keys: keys + leaving.flatMap(\.keys),
          arguments: { command in
            for argument in arguments { command.append(argument) }
            for member in leaving { member.append(to: &command) }
          }
        ).array ?? []
      switch reply.first?.integer {
      case 1:
        cleanStray(new, Registry.place(reply.dropFirst(2)))
        return Ownership.named(new, metadata: reply.dropFirst().first?.bytes)
      case 2:
        leaving = try await self.leaving(
          Int(reply.dropFirst().first?.integer ?? 1), of: username, except: [current, new])
      case -1: return nil
      default:
        guard reply.count == 4 else { continue }
        known = (reply[1].string ?? "", reply[2].string ?? "", reply[3].string ?? "")
      }
    }
    throw Registry.conflict
  }

  /// Removes a device, whoever owns it. False when nobody registered it.
  public func forget(token: String) async throws(RedisError) -> Bool {
    var known: Place = ("", "")
    for attempt in 0..<Registry.maximumConflicts {
      let keys = [
        RegistryKeys.token(token), RegistryKeys.userTokens(known.owner),
        RegistryKeys.audience(known.app, shard: AudienceShard.shard(of: token)),
      ]
      let arguments = [token, known.owner, known.app, attempt < Registry.politeAttempts ? "0" : "1"]
      let reply = try await connection.run(RegistryScripts.forget, keys: keys, arguments: arguments).array ?? []
      switch reply.first?.integer {
      case 1:
        cleanStray(token, Registry.place(reply.dropFirst()))
        return true
      case -1: return false
      default:
        known = Registry.place(reply.dropFirst())
      }
    }
    throw Registry.conflict
  }

  /// Up to `limit` of a user's devices in the order of their tokens, from behind `token` on: what comes and goes meanwhile
  /// moves no other device to another page. Entries that are not the user's are left out, and to be cleaned. Of a set with
  /// more than ``maximumScanned`` entries only so many are looked at.
  public func devices(
    of username: String, after token: String?, limit: Int
  ) async throws(RedisError) -> DevicePage {
    let last = Array((token ?? "").utf8)
    let entries = try await entries(of: username).filter { last.isEmpty || last.lexicographicallyPrecedes($0) }
      .sorted { $0.lexicographicallyPrecedes($1) }
    var rest = entries[...]
    var found = Resolution()
    while found.devices.count <= limit, !rest.isEmpty {
      let batch = rest.prefix(Registry.maximumBatch)
      rest.removeFirst(batch.count)
      for (entry, stored) in zip(batch, try await stored(batch)) {
        found.apply(Ownership.judge(entry: entry, metadata: stored, owner: username))
      }
    }
    return DevicePage(
      devices: Array(found.devices.prefix(limit)), hasMore: found.devices.count > limit, removals: found.removals)
  }
}
