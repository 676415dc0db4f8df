import EventLoop
import Redis
import Telemetry

extension Registry {
  /// Devices of one user that a push is sent to, at most; sets with more entries are read in parts.
  static let maximumResolved = deviceLimits.upperBound

  /// Finds the devices of a user whose set is large, as ``Resolution/largeUser`` told. One set is read at a time, in
  /// parts; what is not the user's is taken out on the way.
  public func resolveLarge(_ user: String, completion: @escaping @EventLoop (Resolution) -> Void) {
    largeUsers.wait(for: user, completion)
    readNextLarge()
  }

  private func readNextLarge() {
    guard let next = largeUsers.next() else { return }
    Task { @EventLoop in
      let resolution = await readLarge(next.user)
      largeUsers.ended()
      readNextLarge()
      for completion in next.completions { completion(resolution) }
    }
  }

  private func readLarge(_ user: String) async -> Resolution {
    var devices: [String: Device] = [:]
    var cursor: String? = "0"
    do throws(RedisError) {
      while let from = cursor, devices.count <= Registry.maximumResolved {
        let page = try await scan(user, from: from)
        var found = Resolution()
        for (entry, stored) in zip(page.entries, try await stored(page.entries)) {
          found.apply(Ownership.judge(entry: entry, metadata: stored, owner: user))
        }
        for device in found.devices { devices[device.token] = device }
        await removed(found.removals, from: user)
        cursor = page.next
      }
    } catch {
      return Resolution(error: error)
    }
    if devices.count <= Registry.maximumResolved {
      largeUsers.remove(user)
    } else if largeUsers.isFirstExcess(of: user) {
      log.warn(
        "a user has more devices than a push is sent to",
        ["username": .init(user), "sentTo": .init(Registry.maximumResolved)])
    }
    // In order, so that a retry finds the devices that the attempt before left open.
    let chosen = devices.values.sorted { $0.token < $1.token }.prefix(Registry.maximumResolved)
    return Resolution(devices: Array(chosen))
  }

  private func removed(_ removals: [Removal], from user: String) async {
    guard !removals.isEmpty else { return }
    do throws(RedisError) {
      let count = try await clean(user: user, removals)
      log.info(
        "removed entries from a user's devices that are not the user's",
        ["username": .init(user), "entries": .init(count), "reason": .init(removals[0].reason.rawValue)])
    } catch {
      // The next push finds them again.
      log.debug("an entry of the registry could not be taken out", ["error": .init("\(error)")])
    }
  }
}
