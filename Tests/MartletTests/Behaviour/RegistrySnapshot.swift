import FleetSupport
import Foundation
import Redis
import TestSupport

/// All keys of a Redis with their values, in a fixed order.
struct RegistrySnapshot: Equatable {
  var keys: [String: String] = [:]

  init(_ fleet: Fleet, without prefix: String) async throws {
    for key in (try await fleet.redis("KEYS", "*").array ?? []).compactMap(\.string) where !key.hasPrefix(prefix) {
      let hasLifetime = try await fleet.redis("TTL", key).integer ?? -1 > 0
      keys[key] = "\(try await Self.value(of: key, fleet)) \(hasLifetime ? "for a time" : "for ever")"
    }
  }

  private static func value(of key: String, _ fleet: Fleet) async throws -> String {
    switch try await fleet.redis("TYPE", key).string {
    case "set": return try await words(fleet.redis("SMEMBERS", key)).sorted().joined(separator: ",")
    case "zset": return try await words(fleet.redis("ZRANGE", key, "0", "-1", "WITHSCORES")).joined(separator: ",")
    case "string":
      let text = try await fleet.redis("GET", key).string ?? ""
      let object = try JSONSerialization.jsonObject(with: Data(text.utf8))
      return String(decoding: try JSONSerialization.data(withJSONObject: object, options: .sortedKeys), as: UTF8.self)
    case let type: throw TestTimeout("\(key) is a \(type ?? "mystery")")
    }
  }

  private static func words(_ value: RedisValue) -> [String] { (value.array ?? []).compactMap(\.string) }
}
