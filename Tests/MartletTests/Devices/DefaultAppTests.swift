import PushModel
import EventLoop
import FleetSupport
import Foundation
import Redis
import Registry
import Telemetry
import Testing
import TestSupport

@testable import Worker

/// Devices that other programs wrote without an app.
struct DefaultAppTests {
  @Test func `a job to the default app reaches a device that was stored without an app`() async throws {
    let fleet = try await Fleet()
    let app = try #require(fleet.gateway.environment["APNS_BUNDLE_ID"])
    let (bare, other) = (fleet.uniqueToken(), fleet.uniqueToken())
    for (token, metadata) in [
      (bare, #"{"username":"bare","platform":"ios","updatedAt":1}"#),
      (other, #"{"username":"bare","platform":"ios","updatedAt":1,"bundleId":"com.example.else"}"#),
    ] {
      _ = try await fleet.redis("SET", RegistryKeys.token(entry: token), metadata)
      _ = try await fleet.redis("SADD", RegistryKeys.userTokens("bare"), token)
    }
    let worker = try await fleet.worker()
    try await eventually("the device is in the audience of the default app") {
      let key = RegistryKeys.audience(app, shard: AudienceShard.shard(of: bare))
      return try await !fleet.redis("ZSCORE", key, bare).isNull
    }
    let id = fleet.unique("broadcast")
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"app":"\#(app)"},"title":"News"}"#, on: worker.queue)
    #expect(try await fleet.record(id).results.map(\.token) == [bare])
    #expect(try await fleet.redis("GET", RegistryKeys.token(entry: other)).string?.contains("com.example.else") == true)
    #expect(try await worker.stop() == 0)
  }

  // MARK: - A worker that stops

  @EventLoop
  private func walk(_ fleet: Fleet) -> DeviceWalk {
    DeviceWalk(
      registry: Registry(connection: fleet.connection, log: .silent), app: "com.example.demo", log: .silent)
  }

  @Test @EventLoop
  func `a worker that stops does not look for devices at its next heartbeat`() async throws {
    let fleet = try await Fleet()
    let walk = walk(fleet)
    walk.stop()
    walk.start()
    await walk.close()
    #expect(try await fleet.redis("EXISTS", RegistryKeys.walk).integer == 0)
  }

  @Test @EventLoop
  func `a worker that stops while it looks for devices leaves that to another one`() async throws {
    let fleet = try await Fleet()
    let (first, second) = (walk(fleet), walk(fleet))
    first.start()
    first.stop()
    await first.close()
    #expect(try await fleet.redis("EXISTS", RegistryKeys.walk).integer == 0)
    second.start()
    await second.close()
    #expect(try await fleet.redis("EXISTS", RegistryKeys.walk).integer == 1)
  }
}
