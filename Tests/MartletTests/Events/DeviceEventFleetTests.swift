import FleetSupport
import Foundation
import Redis
import Registry
import Testing
import TestSupport

/// The events of a sidecar.
@Suite(.serialized) struct DeviceEventFleetTests {
  private static let fleet = Task { try await Fleet() }
  private static let stream = ["MARTLET_EVENTS": "stream"]

  @Test func `a device is registered, transferred and unregistered`() async throws {
    let fleet = try await Self.fleet.value
    let (alice, bob) = (
      try await fleet.userWithCredentials("alice"), try await fleet.userWithCredentials("bob")
    )
    let sidecar = try await fleet.sidecar("sidecar", Self.stream)
    let token = fleet.uniqueToken()
    for user in [alice, bob] {
      #expect(try await sidecar.push("register", as: user, #"{"token":"\#(token)"}"#).status == 200)
    }
    #expect(try await sidecar.push("unregister", as: bob, #"{"token":"\#(token)"}"#).status == 200)
    #expect(
      try await fleet.events(ofToken: token) == [
        "token.registered \(alice)", "token.transferred \(bob)", "token.removed \(bob)",
      ])
    #expect(try await sidecar.admin("/metrics").body.contains(#"martlet_events_total{type="token.removed"} 1"#))
    #expect(try await sidecar.stop() == 0)
  }

  @Test func `kill -9 under registrations: every device has its event, and every event its device`() async throws {
    let fleet = try await Self.fleet.value
    let user = try await fleet.userWithCredentials("crash")
    let tokens = fleet.uniqueTokens(60)
    for part in [tokens.prefix(30), tokens.suffix(30)] {
      let sidecar = try await fleet.sidecar(
        "sidecar", Self.stream.merging(["MARTLET_REGISTER_LIMIT": "off"]) { $1 })
      await withTaskGroup(of: Void.self) { group in
        for (place, token) in part.enumerated() {
          group.addTask {
            if place == 12 { sidecar.process.signal(SIGKILL) }
            _ = try? await sidecar.push("register", as: user, #"{"token":"\#(token)"}"#)
          }
        }
      }
      sidecar.process.signal(SIGKILL)
      try await sidecar.process.exit()
    }
    for token in tokens {
      let exists = try await fleet.redis("EXISTS", RegistryKeys.token(entry: token)).integer == 1
      #expect(try await fleet.events(ofToken: token) == (exists ? ["token.registered \(user)"] : []))
    }
  }

  @Test func `martlet all counts the events of both services once`() async throws {
    let fleet = try await Self.fleet.value
    let user = try await fleet.userWithCredentials("both")
    let all = try await fleet.sidecar(
      "all", Self.stream.merging(["MARTLET_QUEUES": fleet.unique("all")]) { $1 })
    #expect(try await all.push("register", as: user, #"{"token":"\#(fleet.uniqueToken())"}"#).status == 200)
    #expect(try await all.admin("/metrics").body.contains(#"martlet_events_total{type="token.registered"} 1"#))
    #expect(try await all.stop() == 0)
  }
}
