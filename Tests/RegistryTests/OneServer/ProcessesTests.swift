import EventLoop
import PushModel
import Redis
import Registry
import RegistrySupport
import Telemetry
import TestSupport
import Testing

/// Several processes that change the same devices on one server.
@EventLoop
@Suite(.serialized)
struct ProcessesTests {
  private static let maximum = 5
  private static let server = Task { try await RedisServer() }

  private func fixtures(_ count: Int) async throws -> [Fixture] {
    var fixtures: [Fixture] = []
    for _ in 0..<count {
      fixtures.append(try await Fixture(maximumDevices: Self.maximum, server: try await Self.server.value))
    }
    return fixtures
  }

  @Test func `processes that register devices of one user at once leave exactly the maximum`() async throws {
    let fixtures = try await fixtures(4)
    let tokens = (0..<80).map { fixtures[0].token("processes-\(1000 + $0)") }
    let failures = await withTaskGroup(of: String?.self) { group in
      for (number, token) in tokens.enumerated() {
        group.addTask {
          do {
            _ = try await fixtures[number % 4].register(token, "processes", app: "com.p", now: Int64(1000 + number))
            return nil
          } catch {
            return "\(error)"
          }
        }
      }
      var failures: [String] = []
      for await case let failure? in group { failures.append(failure) }
      return failures
    }
    #expect(failures == [])
    let members = try await fixtures[0].members("processes")
    #expect(members.count == Self.maximum)
    for token in tokens {
      #expect(try await (fixtures[0].metadata(token) != nil) == members.contains(token))
      #expect(try await fixtures[0].audience("com.p", of: token) == members.contains(token))
    }
  }

  @Test func `the sets of a token that processes change at once agree with its metadata`() async throws {
    let fixtures = try await fixtures(3)
    let tokens = (0..<3).map { fixtures[0].token("agreed-\($0)") }
    let (users, apps) = (["agreed-a", "agreed-b"], ["com.agreed.x", "com.agreed.y"])
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<240 {
        let (fixture, token) = (fixtures[number % 3], tokens[number / 3 % 3])
        let (user, app, now) = (users[number / 9 % 2], apps[number / 7 % 2], Int64(1000 + number))
        // Who loses too often throws; only the state counts.
        group.addTask {
          switch number % 5 {
          case 0, 1: _ = try? await fixture.register(token, Username(user), app: app, now: now)
          case 2:
            _ = try? await fixture.registry.replace(
              token: DeviceToken(token), with: DeviceToken(tokens[number % 3]), of: Username(user), now: now)
          case 3: _ = try? await fixture.registry.unregister(token: DeviceToken(token), username: Username(user))
          default:
            let stale = StaleDevice(token: DeviceToken(token), owner: Username(user), bundleID: app, notAfter: now)
            _ = try? await fixture.removeStale(stale)
          }
        }
      }
    }
    for token in tokens {
      let metadata = try await fixtures[0].metadata(token)
      for user in users {
        #expect(try await fixtures[0].members(Username(user)).contains(token) == (metadata?.username.text == user))
      }
      for app in apps {
        #expect(try await fixtures[0].audience(app, of: token) == (metadata?.bundleID == app))
      }
    }
  }
}
