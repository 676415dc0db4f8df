import EventLoop
import PushModel
import Redis
import RegistrySupport
import TestSupport
import Testing

@testable import Backup
@testable import Registry

/// One server changes devices by scripts and a cluster in steps; both decide the same.
@EventLoop
struct EqualWaysTests {
  private static let users = HardNames.users(2).map { "equal-" + $0.form }
  private static let apps = ["com.equal.x", "com.equal.y"]

  /// What an operation returned and what is stored then, as text.
  private func run(_ way: Way, seed: UInt64) async throws -> [String] {
    try await Way.$current.withValue(way) {
      let fixture = try await Fixture(maximumDevices: 2)
      let tokens = (0..<4).map { fixture.token("equal-\(seed)-\($0)") }
      var random = SeededGenerator(seed: seed)
      var lines: [String] = []
      for number in 0..<40 {
        let now = Int64(1000 + number)
        lines.append(try await step(fixture, tokens, now, seed, &random))
        lines.append(try await dump(fixture, tokens, seed))
      }
      for token in tokens { _ = try await fixture.registry.forget(token: DeviceToken(token)) }
      return lines
    }
  }

  private func step(
    _ fixture: Fixture, _ tokens: [String], _ now: Int64, _ seed: UInt64, _ random: inout SeededGenerator
  ) async throws -> String {
    let (registry, choice) = (fixture.registry, Int(random.next() % 12))
    let (token, other) = (tokens[Int(random.next() % 4)], tokens[Int(random.next() % 4)])
    let user = "\(Self.users[Int(random.next() % 2)])-\(seed)"
    let app = random.next() % 3 == 0 ? nil : "\(Self.apps[Int(random.next() % 2)]).\(seed)"
    let (isAssumed, before) = (random.next() % 2 == 0, now - Int64(random.next() % 4))
    switch choice {
    case 0...4:
      let name = choice == 4 ? "" : user
      let registration = Registration(
        token: DeviceToken(token), username: Username(name), platform: .ios,
        bundleID: app ?? (choice == 4 ? "\(Self.apps[0]).\(seed)" : nil),
        isBundleAssumed: isAssumed, now: now)
      return "register \(try await registry.register(registration))"
    case 5:
      return
        "replace \(String(describing: try await registry.replace(token: DeviceToken(token), with: DeviceToken(other), of: Username(user), now: now)))"
    case 6: return "forget \(try await registry.forget(token: DeviceToken(token)))"
    case 7: return "unregister \(try await registry.unregister(token: DeviceToken(token), username: Username(user)))"
    case 8 where isAssumed: return "all \(try await registry.unregisterAll(username: Username(user)))"
    case 8, 9:
      let known = try await fixture.metadata(token)?.bundleID
      let stale = StaleDevice(token: DeviceToken(token), owner: Username(user), bundleID: known, notAfter: before)
      return "stale \(try await fixture.removeStale(stale))"
    case 10:
      let known = try await fixture.metadata(token)
      // Equally new, of the same owner, and perhaps the first to name an app.
      let isEqual = isAssumed && known?.username.isEmpty == false
      let metadata = DeviceMetadata(
        username: isEqual ? known?.username ?? Username(user) : Username(user), platform: .ios,
        updatedAt: isEqual ? known?.updatedAt ?? before : before, bundleID: app)
      return "restore \(try await registry.restore([.device(token: DeviceToken(token), metadata)]))"
    default:
      _ = try await fixture.run("SADD", RegistryKeys.userTokens(Username(user)), token)
      let removals = await fixture.resolve([.user(Username(user))])[0].removals
      return "clean \(try await fixture.clean(user: Username(user), removals))"
    }
  }

  private func dump(_ fixture: Fixture, _ tokens: [String], _ seed: UInt64) async throws -> String {
    var parts: [String] = []
    for user in Self.users { parts.append("\(try await fixture.members("\(user)-\(seed)").sorted())") }
    for token in tokens {
      parts.append("\(String(describing: try await fixture.metadata(token)))")
      for app in Self.apps { parts.append("\(try await fixture.audience("\(app).\(seed)", of: token))") }
    }
    return parts.joined(separator: "\n")
  }

  @Test(arguments: 1...12)
  func `the same history has the same results`(seed: Int) async throws {
    let atomic = try await run(.atomic, seed: UInt64(seed))
    let stepwise = try await run(.stepwise, seed: UInt64(seed))
    let difference = zip(atomic, stepwise).enumerated().first { $1.0 != $1.1 }
    #expect(atomic.count == stepwise.count)
    #expect(difference == nil, "step \(difference.map { "\($0.offset / 2): \($0.element)" } ?? "")")
  }
}
