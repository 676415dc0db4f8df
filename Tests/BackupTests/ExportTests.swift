import BackupSupport
import EventLoop
import Foundation
import PushModel
import Redis
import RedisSupport
import Registry
import RegistrySupport
import Telemetry
import Testing
import TestSupport

@testable import Backup

/// Exports of one server and of all servers of a cluster.
@EventLoop
struct ExportTests {
  @Test(.inEveryWay) func `every device and instance is exported`() async throws {
    let fixture = try await Fixture()
    let directory = try TemporaryDirectory()
    let tokens = (0..<50).map { fixture.token("exported-\($0)") }
    for token in tokens { _ = try await fixture.register(token, "exporter-\(token.utf8.count)", app: "com.exported") }
    let update = Registration(
      token: DeviceToken(fixture.token("exported-update")), username: "exporter", platform: .ios,
      bundleID: "com.exported",
      kind: .activity, activity: "order-7", frequentPushes: true, now: 1)
    _ = try await fixture.registry.register(activityToken: update)
    try await fixture.registry.register(
      instance: "exported", InstanceRecord(token: DeviceToken(tokens[0]), environment: nil, updatedAt: 3))
    let export = try await fixture.registry.exportBackup(path: "\(directory.path)/backup.json")
    #expect(export.devices >= tokens.count)
    #expect(export.instances >= 1)
    let text = try String(contentsOfFile: "\(directory.path)/backup.json", encoding: .utf8)
    #expect(tokens.allSatisfy { text.contains("\"\($0)\"") })
    #expect(text.contains(#""kind":"activity","activity":"order-7","frequentPushes":true"#))
    directory.remove()
  }

  @Test func `slots that move meanwhile are an error, and there is no file`() async throws {
    let cluster = try await RedisCluster(replicas: 0)
    let redis = try await RedisClient.connected(to: cluster.url)
    defer { redis.close() }
    let registry = Registry(connection: redis, maximumDevices: 1000, log: .silent)
    for number in 0..<200 {
      let token = "token-moving-\(number)-0123456789abcdef"
      _ = try await registry.register(
        Registration(token: DeviceToken(token), username: "mover", platform: .ios, now: 1))
    }
    let directory = try TemporaryDirectory()
    let movement = Task {
      let slot = try await cluster.slot(of: RegistryKeys.token(entry: "token-moving-0-0123456789abcdef"))
      while !Task.isCancelled {
        let source = try await cluster.primary(ofSlot: slot)
        try await cluster.move(slot: slot, to: cluster.nodes.first { $0 !== source } ?? source)
      }
    }
    var number = 0
    try await eventually("an export notices that slots move") {
      number += 1
      let path = "\(directory.path)/\(number).json"
      do throws(BackupError) {
        _ = try await registry.exportBackup(path: path)
        return false
      } catch {
        #expect(!FileManager.default.fileExists(atPath: path))
        return "\(error)".contains("slots of the cluster moved")
      }
    }
    movement.cancel()
    _ = await movement.result
    directory.remove()
    try await cluster.stop()
  }

  @Test func `slots that are being moved are recognised`() {
    let other = "0a 127.0.0.1:1@2 master - 0 1 3 connected 5-9 [93->-0b]"
    let own = "0b 127.0.0.1:3@4 myself,master - 0 1 3 connected 0-4 10-12"
    let steady = SlotAssignment(nodes: ["\(other)\n\(own)\n"])
    #expect(!steady.isChanging)
    #expect(steady == SlotAssignment(nodes: ["\(own)\n"]))
    #expect(steady != SlotAssignment(nodes: ["\(own) 13\n"]))
    #expect(SlotAssignment(nodes: ["\(own) [93-<-0a]\n\(other)"]).isChanging)
    #expect(!SlotAssignment(nodes: []).isChanging)
  }
}
