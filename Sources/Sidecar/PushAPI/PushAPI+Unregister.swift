import EventLoop
import HTTPServer
import JSON
import Redis
import Registry

extension PushAPI {
  func unregister(
    _ body: [UInt8], for username: String, _ registry: Registry
  ) async throws(RedisError) -> HTTPResponse {
    let token: String?
    do { token = try PushBody(body).token() } catch { return .error(error.text, status: 400) }
    guard let token else {
      return unregistered(try await registry.unregisterAll(username: username))
    }
    let removed = try await registry.unregister(token: token, username: username)
    return unregistered(
      BulkUnregistration(entries: removed.removedEntry ? 1 : 0, metadata: removed.removedMetadata ? 1 : 0))
  }

  private func unregistered(_ counts: BulkUnregistration) -> HTTPResponse {
    .json(
      .object([
        JSONMember(key: "success", value: .bool(true)),
        .count("removed", counts.entries + counts.malformedEntries),
        .count("metadataRemoved", counts.metadata),
        .count("invalidStoredTokensRemoved", counts.malformedEntries),
        // Redis sets hold nothing but strings.
        .count("skippedNonStringTokenCount", 0),
        .count("pushMetadataLookupConcurrency", counts.hasLookedUp ? configuration.lookupConcurrency : 0),
        .count("removedUserTokenSet", counts.isSetGone ? 1 : 0),
      ]))
  }
}

extension JSONMember {
  static func count(_ key: String, _ count: Int) -> JSONMember {
    JSONMember(key: key, value: .integer(Int64(count)))
  }
}
