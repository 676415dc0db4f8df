import EventLoop
import Foundation
import HTTPServer
import Redis
import Registry
import Sidecar
import SidecarSupport
import Testing
import TestSupport
@testable import Credentials
@testable import MartletDevice
@testable import PushModel

/// clients/ios/MartletDevice.swift at a real sidecar.
@EventLoop
struct MartletDeviceTests {
  private let facts = MartletDevice.Facts(
    bundleID: "com.client.app", environment: .sandbox, locale: "de-DE", deviceID: "phone")

  private func user(_ fixture: SidecarFixture, _ name: String) async throws -> MartletDevice.Owner {
    _ = try await fixture.user(name)
    return .user(name, secret: SidecarFixture.secret + name)
  }

  private func instance(_ fixture: SidecarFixture, _ name: String) async throws -> InstanceRecord? {
    try await fixture.run("GET", RegistryKeys.instance(name)).bytes.flatMap(InstanceRecord.init(parsing:))
  }

  @Test func `a user's device is registered with what is known of it, renewed, and unregistered at sign-out`()
    async throws
  {
    let fixture = try await SidecarFixture()
    let phone = try TestDevice(port: fixture.sidecar.port, facts: facts)
    let (first, second, calls) = (TestDevice.token(), TestDevice.token(), TestDevice.token())
    await phone.device.signIn(as: try await user(fixture, "client-alice"))
    phone.device.received(first)
    try await phone.registered(1)
    let metadata = try #require(try await fixture.metadata(first.hex))
    #expect(metadata.username == "client-alice")
    #expect(metadata.bundleID == "com.client.app")
    #expect(metadata.environment == .sandbox)
    #expect(metadata.kind == .app)
    #expect(metadata.deviceID == "phone")

    phone.device.received(second)
    phone.device.received(calls, kind: .voip)
    try await phone.registered(3)
    #expect(try await fixture.metadata(calls.hex)?.kind == .voip)
    #expect(try await fixture.members("client-alice") == [second.hex, calls.hex])

    // The token that was replaced by a new one of the phone is unregistered, too.
    try await phone.device.signOut()
    #expect(try await fixture.members("client-alice").isEmpty)
    #expect(phone.events.last == .unregistered)
    phone.device.received(TestDevice.token())
    try await phone.device.signOut()
    #expect(try await fixture.members("client-alice").isEmpty)
  }

  @Test func `a sign-in after a sign-out registers again, each widget's token and the newest of the app`() async throws
  {
    let fixture = try await SidecarFixture()
    let phone = try TestDevice(port: fixture.sidecar.port, facts: facts)
    let (owner, tokens) = (try await user(fixture, "client-widgets"), (0..<4).map { _ in TestDevice.token() })
    await phone.device.signIn(as: owner)
    phone.device.received(tokens[0])
    try await phone.registered(1)
    phone.device.received(tokens[1])
    for token in tokens[2...] { phone.device.received(token, kind: .widgets) }
    try await phone.registered(4)
    try await phone.device.signOut()
    await phone.device.signIn(as: owner)
    try await phone.registered(7)
    #expect(try await fixture.members("client-widgets") == Set(tokens[1...].map(\.hex)))
  }

  @Test func `what is registered already is not registered again`() async throws {
    let fixture = try await SidecarFixture()
    let phone = try TestDevice(port: fixture.sidecar.port, facts: facts)
    let (token, other, owner) = (TestDevice.token(), TestDevice.token(), try await user(fixture, "client-again"))
    await phone.device.signIn(as: owner)
    phone.device.received(token)
    try await phone.registered(1)
    await phone.device.signIn(as: owner)
    phone.device.received(token)
    phone.device.received(other, kind: .widgets)
    try await phone.registered(2)
    #expect(phone.events.last == .registered(token: String(other.hex.prefix(8))))
  }

  @Test func `the next user of the phone takes all its tokens over`() async throws {
    let fixture = try await SidecarFixture()
    let phone = try TestDevice(port: fixture.sidecar.port, facts: facts)
    let (token, calls) = (TestDevice.token(), TestDevice.token())
    await phone.device.signIn(as: try await user(fixture, "client-former"))
    phone.device.received(token)
    phone.device.received(calls, kind: .voip)
    try await phone.registered(2)
    await phone.device.signIn(as: try await user(fixture, "client-next"))
    try await phone.registered(4)
    #expect(try await fixture.members("client-former").isEmpty)
    #expect(try await fixture.members("client-next") == [token.hex, calls.hex])
  }

  @Test func `sign-out before the system has given a token unregisters that of the launch before, on the same phone`()
    async throws
  {
    let fixture = try await SidecarFixture()
    let (token, suite) = (TestDevice.token(), UUID().uuidString)
    let owner = try await user(fixture, "client-launch")
    let before = try TestDevice(port: fixture.sidecar.port, facts: facts, suite: suite)
    await before.device.signIn(as: owner)
    before.device.received(token)
    try await before.registered(1)

    var restored = facts
    restored.deviceID = "another phone"
    let copy = try TestDevice(port: fixture.sidecar.port, facts: restored, suite: suite)
    await copy.device.signIn(as: owner)
    let launch = try TestDevice(port: fixture.sidecar.port, facts: facts, suite: suite)
    await launch.device.signIn(as: owner)
    #expect(MartletDevice.Store(defaults: UserDefaults(suiteName: suite) ?? .standard).tokens(of: restored).isEmpty)
    try await launch.device.signOut()
    #expect(try await fixture.members("client-launch").isEmpty)
  }

  @Test func `an instance has one token, which sign-out takes away`() async throws {
    let fixture = try await SidecarFixture()
    try await fixture.allow(.instance, "client-home", secret: "client-home-device-key")
    let phone = try TestDevice(port: fixture.sidecar.port, facts: facts)
    await phone.device.signIn(as: .instance("client-home", key: "client-home-device-key"))
    let (first, second) = (TestDevice.token(), TestDevice.token())
    phone.device.received(first)
    try await phone.registered(1)
    phone.device.received(TestDevice.token(), kind: .voip)
    phone.device.received(second)
    try await phone.registered(2)
    let record = try await instance(fixture, "client-home")
    #expect(record?.token.text == second.hex)
    #expect(record?.environment == .sandbox)
    #expect(record?.bundleID == "com.client.app")
    try await phone.device.signOut()
    #expect(try await instance(fixture, "client-home")?.isActive == false)
  }

  @Test func `a refused secret is reported at once, and the owner can sign out again after a failure`() async throws {
    let fixture = try await SidecarFixture()
    _ = try await user(fixture, "client-wrong")
    let phone = try TestDevice(port: fixture.sidecar.port, facts: facts)
    phone.device.received(TestDevice.token())
    await phone.device.signIn(as: .user("client-wrong", secret: "not the secret of this user"))
    #expect(try await phone.failed().contains("api/push/register: 401"))
    #expect(phone.events.count == 1)
    for _ in 1...2 {
      await #expect(throws: MartletDevice.Failure.self) { try await phone.device.signOut() }
    }
    #expect(phone.events.count == 3)
  }

  @Test func `a redirection is not followed, because it would carry the secret elsewhere`() async throws {
    let fixture = try await SidecarFixture()
    let owner = try await user(fixture, "client-moved")
    let target = "http://127.0.0.1:\(fixture.sidecar.port)/api/push/register"
    let proxy = try RawServer(
      answer: "HTTP/1.1 307 Temporary Redirect\r\nLocation: \(target)\r\nContent-Length: 0\r\n\r\n")
    let phone = try TestDevice(port: proxy.port, facts: facts)
    phone.device.received(TestDevice.token())
    await phone.device.signIn(as: owner)
    #expect(try await phone.failed().contains("307"))
    #expect(try await fixture.members("client-moved").isEmpty)
  }
}
