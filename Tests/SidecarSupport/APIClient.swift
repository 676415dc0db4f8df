import Crypto
package import EventLoop
import HTTPServer
import Jobs
import JSON
package import PushModel
import Redis
package import Registry
package import Sidecar
package import Testing
package import TestSupport
@testable package import Credentials

/// A client with an API key and its own sidecar. All its names are unique.
@EventLoop
package final class APIClient {
  package static let formatError = "Invalid device token format (must be 64-character hex string)"

  package let fixture: SidecarFixture
  package let key: String
  package var keyName: String { "key-\(tag)" }
  private let tag = Secret.random().lowercased()

  package init(
    quota: KeyQuota = .standard, scopes: Set<KeyScope> = Set(KeyScope.allCases),
    _ adapt: (inout SidecarConfiguration) -> Void = { _ in }, backupImport: BackupImport? = nil,
    server: RedisServer? = nil
  ) async throws {
    fixture = try await SidecarFixture(adapt, backupImport: backupImport, server: server)
    key = "secret-\(tag)"
    try await allow(keyName, secret: key, quota: quota, scopes: scopes)
  }

  package func allow(
    _ name: String, secret: String, quota: KeyQuota = .standard, scopes: Set<KeyScope> = Set(KeyScope.allCases),
    isEnabled: Bool = true
  ) async throws {
    let credential = Credential(
      kind: .key, name: name, digest: Credential.digest(of: secret), createdAt: 1, isEnabled: isEnabled,
      scopes: scopes, quota: quota)
    #expect(try await fixture.backend.credentials.add(credential) == nil)
  }

  /// Returns a name that no other client has.
  package func unique(_ name: String) -> String { "\(name)-\(tag)" }

  /// Returns a device token of 64 hexadecimal digits that no other client has.
  package func token(_ name: String) -> String { SHA256.hex(unique(name)) }

  package func app(_ name: String) -> String { "com.example.\(unique(name))" }

  package func send(_ method: String, _ path: String, _ body: String? = nil, _ headers: [String: String] = [:])
    async throws
    -> WebAnswer
  {
    try await fixture.request(method, path, ["X-API-Key": key].merging(headers) { _, own in own }, body: body)
  }

  package func send(_ method: String, _ path: String, bytes: [UInt8]) async throws -> WebAnswer {
    try await WebAnswer.ask(port: fixture.sidecar.port, method, path, fields: [("X-API-Key", key)], bytes: bytes)
  }

  package func metadata(_ token: String) async throws -> DeviceMetadata? {
    try await fixture.run("GET", RegistryKeys.token(entry: token)).bytes.flatMap(DeviceMetadata.init(parsing:))
  }

  package func devices(of user: Username) async throws -> Set<String> {
    Set(try await fixture.run("SMEMBERS", RegistryKeys.userTokens(user)).array?.compactMap(\.string) ?? [])
  }

  package func isAudience(_ app: String, _ token: String) async throws -> Bool {
    let key = RegistryKeys.audience(app, shard: AudienceShard.shard(of: token))
    return try await fixture.run("ZSCORE", key, token) != .null
  }

  /// Registers a device as another API does.
  package func register(
    _ token: String, _ user: Username, app: String? = nil, platform: Platform = .ios, now: Int64 = 1000
  )
    async throws
  {
    try await fixture.backend.registry.register(
      Registration(token: DeviceToken(token), username: user, platform: platform, bundleID: app, now: now))
  }

  package func stop() async {
    await fixture.sidecar.stop(grace: .seconds(1))
  }
}

extension WebAnswer {
  /// Expects an error of the device API or the broadcast API: `{"error","message"?}` without internal details.
  package func isError(_ status: Int, _ error: String? = nil, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(self.status == status, "\(body)", sourceLocation: sourceLocation)
    #expect(headers["content-type"] == "application/json", sourceLocation: sourceLocation)
    if let error { #expect(self.error == error, sourceLocation: sourceLocation) }
    let keys = json?.members?.map(\.key) ?? []
    #expect(keys == ["error"] || keys == ["error", "message"], "\(body)", sourceLocation: sourceLocation)
    #expect(!body.contains(".swift") && !body.contains("user_script"), "\(body)", sourceLocation: sourceLocation)
  }

  /// Expects the header fields that docs/http/device-api.md states.
  package func isCrossOrigin(sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(headers["access-control-allow-origin"] == "*", sourceLocation: sourceLocation)
    #expect(
      headers["access-control-allow-methods"] == "GET, POST, PUT, DELETE, OPTIONS", sourceLocation: sourceLocation)
    #expect(
      headers["access-control-allow-headers"]
        == "Content-Type, X-Amz-Date, Authorization, X-Api-Key, X-Amz-Security-Token", sourceLocation: sourceLocation)
  }
}
