import EventLoop
public import PushModel
import Redis
import Telemetry

/// Users whose set is too large to be read at once, and the queries that wait for their devices.
struct LargeUsers {
  typealias Completion = @EventLoop (Resolution) -> Void

  /// Users beyond this number are found again when needed.
  private static let maximumRemembered = 1024

  /// For each user whether it was logged that pushes do not reach all devices.
  private var remembered: [Username: Bool] = [:]
  private var waiting: [Username: [Completion]] = [:]

  func contains(_ user: Username) -> Bool {
    !remembered.isEmpty && remembered[user] != nil
  }

  mutating func insert(_ user: Username) {
    guard remembered[user] == nil else { return }
    if remembered.count >= LargeUsers.maximumRemembered { remembered.remove(at: remembered.startIndex) }
    remembered[user] = false
  }

  mutating func remove(_ user: Username) {
    remembered[user] = nil
  }

  /// Records that a user has too many devices. Returns true the first time after the user was inserted.
  mutating func recordExcess(of user: Username) -> Bool {
    guard remembered[user] != true else { return false }
    remembered[user] = true
    return true
  }

  /// Queries that wait for the same user share one reading, if that has not begun. Returns whether this is the first.
  mutating func wait(for user: Username, _ completion: @escaping Completion) -> Bool {
    waiting[user, default: []].append(completion)
    return waiting[user]?.count == 1
  }

  mutating func takeQueries(of user: Username) -> [Completion] { waiting.removeValue(forKey: user) ?? [] }
}

extension Registry {
  /// Maximum devices of one user, of all apps, that a push is sent to. Sets with more entries are read in parts.
  package nonisolated static let maximumResolved = deviceLimits.upperBound

  /// Finds the devices of a user with a large set; see ``Resolution/largeUser``. Reads one set at a time, in parts, and
  /// removes entries that do not belong to the user.
  public func resolveLarge(_ user: Username, completion: @escaping @EventLoop (Resolution) -> Void) {
    guard largeUsers.wait(for: user, completion) else { return }
    EventLoop.start { [self] in
      await largeReadings.take(0)
      let completions = largeUsers.takeQueries(of: user)
      let resolution = await readLarge(user)
      largeReadings.leave(0)
      for completion in completions { completion(resolution) }
    }
  }

  private func readLarge(_ user: Username) async -> Resolution {
    var devices: [DeviceToken: Device] = [:]
    var cursor: String? = "0"
    do throws(RedisError) {
      try await meet(user)
      while let from = cursor, devices.count <= Registry.maximumResolved {
        let page = try await reader.scan(user, from: from)
        let entries = try await executor.unite(page.entries)
        let found = Resolution(entries, try await reader.stored(entries), of: user)
        for device in found.devices { devices[device.token] = device }
        await removed(found.removals, from: user)
        cursor = page.next
      }
    } catch {
      return Resolution(error: error)
    }
    if devices.count <= Registry.maximumResolved {
      largeUsers.remove(user)
    } else if largeUsers.recordExcess(of: user) {
      // Operator: Another program writes the user's set. The next new device of the user shrinks it.
      log.warn(
        "a user has more devices than a push is sent to",
        ["username": .init(user.text), "sentTo": .init(Registry.maximumResolved)])
    }
    // Sorted, so that a retry finds the same devices.
    let chosen = devices.values.sorted { $0.token < $1.token }.prefix(Registry.maximumResolved)
    return Resolution(devices: Array(chosen))
  }

  private func removed(_ removals: [Removal], from user: Username) async {
    guard !removals.isEmpty else { return }
    do throws(RedisError) {
      let count = try await clean(user: user, removals)
      log.info(
        "removed entries that do not belong to the user from a user's devices",
        ["username": .init(user.text), "entries": .init(count), "reason": .init(removals[0].reason.rawValue)])
    } catch {
      // The next push finds them again.
      log.debug("entries could not be removed from the registry", ["error": .init("\(error)")])
    }
  }
}
