import Crypto
import JSON
package import PushModel
import Redis
package import Registry
import Sidecar
package import TestSupport
@testable import Credentials

/// Users of the push API, and their devices.
extension SidecarFixture {
  package static let secret = "a-bearer-token"

  /// Creates a user and returns the header fields of its requests.
  package func user(_ name: String) async throws -> [String: String] {
    _ = try await backend.credentials.revoke(.user, name)
    try await allow(.user, name, secret: SidecarFixture.secret + name)
    return ["Authorization": "Bearer \(SidecarFixture.secret + name)", "X-Username": name]
  }

  /// Returns a token of APNs that no other name has.
  package func token(_ name: String) -> String { SHA256.hex(name) }

  package func push(_ route: String, _ headers: [String: String], _ body: String = "{}") async throws -> WebAnswer {
    try await request("POST", "/api/push/\(route)", headers, body: body)
  }

  package func members(_ user: Username) async throws -> Set<String> {
    Set(try await run("SMEMBERS", RegistryKeys.userTokens(user)).array?.compactMap(\.string) ?? [])
  }

  package func metadata(_ token: String) async throws -> DeviceMetadata? {
    try await run("GET", RegistryKeys.token(entry: token)).bytes.flatMap(DeviceMetadata.init(parsing:))
  }

  package func audience(_ app: String, of token: String) async throws -> Bool {
    let key = RegistryKeys.audience(app, shard: AudienceShard.shard(of: token))
    return try await run("ZSCORE", key, token) != .null
  }
}

extension WebAnswer {
  /// A number of the answer.
  package subscript(key: String) -> Int64? { json?[key]?.integer(in: NumberRange.counts) }

  /// The names of the answer, in order.
  package var keys: [String] { json?.members?.map(\.key) ?? [] }
}
