import EventLoop
import JSON
public import PushModel
public import Redis
import Telemetry

/// Which devices of a push gateway APNs has called gone. They are not registered, and anybody may have invented them: each client
/// of the gateway has a hash of its own, so that nobody fills that of another.
extension Registry {
  /// Devices that are remembered for one client, at most. A further one is remembered when the others expire.
  package nonisolated static let maximumGone = 10_000
  /// How long the first one is remembered, and with it the others. Seconds.
  private nonisolated static let goneLifetime = 259_200

  /// Remembers for a client that a device of an app is gone since a time, in unix ms. It may be lost: the client is told later.
  public func keep(_ token: DeviceToken, of app: String, goneSince: Int64, for client: String) {
    let command = RegistryScripts.keepGone(
      gone: RegistryKeys.gone(client), device: Registry.field(token, app), since: goneSince,
      maximum: Registry.maximumGone,
      ttl: Registry.goneLifetime)
    connection.send(command) { [log] result in
      if case .failure(let error) = result {
        log.debug("a device that is gone could not be noted", ["error": .init("\(error)")])
      }
    }
  }

  /// Since when each of the devices, with its app, is gone, in unix ms; nil if the client was told nothing of it.
  public func goneSince(
    _ devices: [(token: DeviceToken, app: String)], for client: String
  ) async throws(RedisError) -> [Int64?] {
    guard !devices.isEmpty else { return [] }
    let command = devices.reduce(RedisCommand("HMGET", RegistryKeys.gone(client))) {
      $0.with(Registry.field($1.token, $1.app))
    }
    let values = try await connection.send(command).array ?? []
    return devices.indices.map { $0 < values.count ? values[$0].string?.integer(in: NumberRange.times) : nil }
  }

  private nonisolated static func field(_ token: DeviceToken, _ app: String) -> String { "\(token.text) \(app)" }
}
