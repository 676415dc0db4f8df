public import PushModel
import EventLoop
public import Redis

/// What unregistering a device, or all devices of a user, removed.
public struct Unregistration: Sendable, Equatable {
  /// Well-formed tokens removed from the user's set.
  public var entries = 0
  /// Metadata removed that named the user.
  public var metadata = 0
  /// Entries removed from the set that were not well-formed tokens.
  public var malformedEntries = 0
  /// Whether there were well-formed tokens, whose metadata was read.
  public var hasLookedUp = false
  /// Whether the set became empty.
  public var isSetGone = false

  public init(entries: Int = 0, metadata: Int = 0) {
    self.entries = entries
    self.metadata = metadata
  }
}

extension Registry {
  /// Removes a device from a user. The metadata of another owner is kept.
  public func unregister(token: DeviceToken, username: String) async throws(RedisError) -> Unregistration {
    let entry = try await executor.entry(of: token)
    let outcome = try await executor.complete(.unregister(username), on: entry)
    return Unregistration(
      entries: outcome.left.contains(.user(username)) ? 1 : 0, metadata: outcome.end == .written ? 1 : 0)
  }

  /// Removes all devices from a user. The metadata of other owners is kept.
  ///
  /// Works in batches, so that Redis serves others in between.
  public func unregisterAll(username: String) async throws(RedisError) -> Unregistration {
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
    _ entries: [[UInt8]], from username: String, _ result: inout Unregistration
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
}
