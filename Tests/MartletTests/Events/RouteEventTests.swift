import APNs
import EventLoop
import FleetSupport
import Foundation
import HTTPClient
import JSON
import Redis
import Telemetry
import Testing
import TestSupport

@testable import Worker

/// The events of a route, of a worker in this process that tries a paused route twice a second.
@Suite struct RouteEventTests {
  @EventLoop
  private func started(_ fleet: Fleet, on queue: String) throws -> WorkerService {
    let values = fleet.gateway.environment
    func text(_ name: String) throws -> String {
      try String(contentsOfFile: try #require(values[name]), encoding: .utf8)
    }
    var limits = APNsConfiguration.Limits()
    limits.probeInterval = .milliseconds(500)
    var configuration = WorkerConfiguration(redis: try RedisEndpoint(url: fleet.redis.url))
    configuration.apns = try APNsConfiguration(
      keys: [
        .init(
          keyID: try #require(values["APNS_KEY_ID"]), teamID: try #require(values["APNS_TEAM_ID"]),
          privateKeyPEM: try text("APNS_KEY_PATH"))
      ],
      gateway: .init(
        endpointOverride: values["APNS_ENDPOINT_OVERRIDE"],
        authorities: try TrustedCertificates(pem: text("APNS_CA_CERT"))),
      limits: limits)
    configuration.queues = [queue]
    configuration.writesEvents = true
    let service = WorkerService(configuration, log: .silent)
    try service.start()
    return service
  }

  @Test func `a route that APNs refuses and accepts again is paused and resumed`() async throws {
    let fleet = try await Fleet()
    try await fleet.gateway.settings(#"{"topics":["com.example.demo"]}"#)
    let queue = fleet.unique("routes")
    let app = "com.example.\(queue)"
    let service = try await started(fleet, on: queue)
    func push() async throws {
      try await fleet.enqueue(#"{"to":{"token":"\#(fleet.uniqueToken())"},"app":"\#(app)","title":"a"}"#, on: queue)
    }
    func events() async throws -> [JSONValue] { try await fleet.events { $0["data"]?["topic"]?.string == app } }
    try await push()
    try await eventually("the route is paused") { try await !events().isEmpty }
    #expect(try await events().map { $0["type"]?.string } == ["route.paused"])

    try await fleet.gateway.settings(#"{"topics":[]}"#)
    try await eventually("the route is resumed") {
      try await push()
      return try await events().count >= 2
    }
    let found = try await events()
    #expect(found.map { $0["type"]?.string } == ["route.paused", "route.resumed"])
    let (paused, resumed) = (found[0]["data"], found[1]["data"])
    for member in ["topic", "environment", "reason", "worker", "since"] { #expect(paused?[member] == resumed?[member]) }
    #expect(resumed?["reason"]?.string == "TopicDisallowed")
    #expect(resumed?["fix"] == nil)
    #expect((found[1]["at"]?.time ?? 0) >= resumed?["since"]?.time ?? .max)
    await service.stop()
    await service.close()
  }
}
