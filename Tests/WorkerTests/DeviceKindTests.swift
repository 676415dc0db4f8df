import EventLoop
import Jobs
import PushModel
import Registry
import Queue
import TestSupport
import Testing

@testable import Worker

/// Which devices a job's push type chooses.
@EventLoop
struct DeviceKindTests {
  private static let devices = DeviceKind.allCases.map {
    Device(token: DeviceToken($0.rawValue), username: "alice", kind: $0)
  }
  private static let token = "abcdef0123456789abcdef"

  private func chosen(_ to: String, _ type: PushType) throws -> [String] {
    let job = #"{"to":\#(to),"pushType":"\#(type)","payload":{}}"#
    return try Delivery.testing(job).ofItsKind(Self.devices).map(\.token.text)
  }

  @Test(arguments: PushType.allCases) func `a job to a user goes to the devices of its kind`(type: PushType) throws {
    #expect(try chosen(#"{"user":"alice"}"#, type) == (type.kind.map { [$0.rawValue] } ?? []))
  }

  @Test func `a job that names tokens is told about each of them`() throws {
    #expect(try chosen(#"{"token":"\#(Self.token)"}"#, .voip).count == Self.devices.count)
    #expect(try chosen(#"{"user":"alice","token":"\#(Self.token)"}"#, .voip).count == Self.devices.count)
  }

  @Test(arguments: PushType.allCases) func `a registered token of another kind is not sent`(type: PushType) {
    for device in Self.devices {
      // A Live Activity is started through a token of another kind than the one that updates it.
      let isStart = type == .liveactivity && device.kind == .pushtostart
      let expected = device.kind == type.kind || isStart ? nil : Tally.wrongTokenKind
      #expect(PushComposer.obstacle(to: device, as: type) == expected)
    }
    #expect(
      PushComposer.obstacle(to: Device(token: "t"), as: type) == nil, "an unregistered one is sent as the job says")
    #expect(
      PushComposer.obstacle(to: Device(token: "t", platform: .android, kind: .app), as: type)
        == Tally.unsupportedPlatform)
  }

  @Test func `the reasons have advice`() {
    for reason in [Tally.wrongTokenKind, Tally.noKeyForEnvironment] { #expect(PushReason.of(reason).advice != nil) }
  }

  @Test func `the history names the push type of a job that has no devices`() throws {
    let delivery = try Delivery.testing(#"{"to":{"user":"alice"},"pushType":"voip"}"#)
    delivery.resolve(to: [])
    delivery.recordHistory(JobOutcome(status: .noDevices, exit: .acknowledge), at: 1)
    let events = delivery.tally.result.history.entries.map(\.event)
    #expect(events.contains(.resolved(devices: 0, removed: [], pushType: .voip)))
    let alert = try Delivery.testing(#"{"to":{"user":"alice"},"title":"T"}"#)
    alert.resolve(to: [])
    alert.recordHistory(JobOutcome(status: .noDevices, exit: .acknowledge), at: 1)
    #expect(alert.tally.result.history.entries.map(\.event).contains(.resolved(devices: 0, removed: [])))
  }
}
