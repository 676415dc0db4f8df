import EventLoop
import HTTPClient
import Telemetry
import TestSupport
import Testing

@testable import APNs
@testable import PushModel

struct AppDirectoryTests {
  private func configuration(
    _ keyID: String = "ABCDE12345", team: String = "TEAM567890", endpoint: String? = nil,
    sandbox: String? = nil, ca: TrustedCertificates? = nil, connections: Int = 1,
    environment: PushEnvironment = .production
  ) throws -> APNsConfiguration {
    var gateway = APNsConfiguration.Gateway(endpointOverride: endpoint, sandboxOverride: sandbox)
    gateway.authorities = ca
    return try APNsConfiguration(
      keys: [.init(keyID: keyID, teamID: team, privateKeyPEM: TestKey.pem)], gateway: gateway,
      defaultEnvironment: environment, connectionsPerEnvironment: connections)
  }

  private func app(_ bundleIDs: String..., with configuration: APNsConfiguration, share: Int = 1) -> APNsApp {
    APNsApp(bundleIDs: bundleIDs, configuration: configuration, share: share)
  }

  @Test func `each bundle id leads to its app, and any other to none`() throws {
    let directory = AppDirectory(
      apps: [app("com.a", "com.b", with: try configuration()), app("com.c", with: try configuration("OTHER12345"))],
      fallback: nil)
    #expect(["com.a", "com.b", "com.c", "com.d", ""].map { directory.target(of: $0)?.app } == [0, 0, 1, nil, nil])
  }

  @Test func `apps with equal team, keys, gateway and connections share a client`() throws {
    let directory = AppDirectory(
      apps: [
        app("com.a", with: try configuration()), app("com.b", with: try configuration(environment: .sandbox)),
        app("com.c", with: try configuration("OTHER12345")), app("com.d", with: try configuration(team: "TEAM000000")),
        app("com.e", with: try configuration(endpoint: "https://a.example")),
        app("com.f", with: try configuration(connections: 2)),
        app("com.g", with: try configuration(endpoint: "https://a.example/ignored")),
      ], fallback: try configuration())
    #expect(directory.configurationOfFallback == 0)
    #expect(directory.configurationsOfApps == [[0], [0], [1], [2], [3], [4], [3]])
    #expect(directory.configurations.count == 5)
  }

  @Test func `two keys are another identity than the first alone`() throws {
    let keys = ["ABCDE12345", "OTHER12345"].map {
      APNsConfiguration.Credentials(keyID: $0, teamID: "TEAM567890", privateKeyPEM: TestKey.pem)
    }
    let identities = try [[keys[0]], keys, keys.reversed()].map { try APNsConfiguration(keys: $0).identity }
    #expect(Set(identities).count == 3)
    #expect(throws: APNsError.self) { try APNsConfiguration(keys: []) }
    #expect(throws: APNsError.self) { try APNsConfiguration(keys: Array(repeating: keys[0], count: 9)) }
  }

  @Test func `each environment and bundle id has the keys that may sign there, in their order`() throws {
    func key(_ id: String, _ environment: PushEnvironment? = nil, _ topics: [String]? = nil) -> AppKey {
      AppKey(
        .init(keyID: id, teamID: "TEAM567890", privateKeyPEM: TestKey.pem), environment: environment, topics: topics)
    }
    let app = try APNsApp(
      bundleIDs: ["com.a", "com.b", "com.c"],
      keys: [
        key("PRODUCTION", .production, ["com.a", "com.b"]), key("SANDBOXKEY", .sandbox, ["com.a"]),
        key("EVERYWHERE", nil, ["com.a"]), key("SANDBOXFOR", .sandbox, ["com.c"]),
      ])
    func keys(_ bundleID: String, _ environment: PushEnvironment) -> [String]? {
      app.configuration(of: bundleID, in: environment)?.keyNames.map(\.keyID)
    }
    #expect(keys("com.a", .production) == ["PRODUCTION", "EVERYWHERE"])
    #expect(keys("com.a", .sandbox) == ["SANDBOXKEY", "EVERYWHERE"])
    #expect(keys("com.b", .production) == ["PRODUCTION"])
    #expect(keys("com.b", .sandbox) == nil)
    #expect(keys("com.c", .production) == nil)
    #expect(keys("com.d", .production) == nil)
    let target = AppDirectory(apps: [app], fallback: nil).target(of: "com.b")
    #expect(target?.production != nil && target?.sandbox == nil)
    // One key for all is one client; of several, each environment has a first of its own.
    let single = try APNsApp(bundleIDs: ["com.a", "com.b"], keys: [key("EVERYWHERE")])
    #expect(single.configurations.count == 1)
    #expect(try APNsApp(bundleIDs: ["com.a"], keys: [key("EVERYWHERE"), key("SANDBOXKEY")]).configurations.count == 2)
  }

  @Test func `the sandbox may have a gateway of its own`() throws {
    func configuration(_ endpoint: String?, _ sandbox: String?) throws -> APNsConfiguration {
      try APNsConfiguration(
        keys: [.init(keyID: "ABCDE12345", teamID: "TEAM567890", privateKeyPEM: TestKey.pem)],
        gateway: .init(endpointOverride: endpoint, sandboxOverride: sandbox))
    }
    let both = try configuration("https://a.example", "https://b.example")
    #expect(both.origin(of: .sandbox).url == "https://b.example:443")
    #expect(both.origins == ["https://a.example:443", "https://b.example:443"])
    #expect(!both.hasOneGateway)
    #expect(try configuration("https://a.example", nil).hasOneGateway)
    #expect(try configuration("https://a.example", "https://a.example").hasOneGateway)
    #expect(try !configuration(nil, "https://b.example").hasOneGateway)
    #expect(try both.identity != configuration("https://a.example", nil).identity)
  }

  /// What is asked by pushes in production and in the sandbox, with the endpoints of the fallback.
  @EventLoop private func asked(_ endpoint: String?, _ sandbox: String?) throws -> [EnvironmentSet] {
    let configuration = try self.configuration(endpoint: endpoint, sandbox: sandbox)
    let clients = AppClients(fallback: configuration, metrics: Metrics(), log: .silent)
    defer { clients.close() }
    let target = try #require(clients.target(of: "com.a"))
    return PushEnvironment.allCases.map { target.asked(in: $0, else: .production) }
  }

  @Test @EventLoop func `a gateway knows the tokens of the environments that it was named for, Apple's of its own`()
    throws
  {
    let own = "https://a.example"
    #expect(try asked(nil, nil) == [.production, .sandbox])
    #expect(try asked(nil, own) == [.production, .sandbox])
    #expect(try asked(own, nil) == [.production, .production], "named once: of devices whose environment is unknown")
    #expect(try asked(own, own) == [.both, .both])
    let (production, sandbox) = ("https://api.push.apple.com:2197", "https://api.sandbox.push.apple.com")
    #expect(try asked(sandbox, own) == [.sandbox, .sandbox])
    #expect(try asked(sandbox, nil) == [.sandbox, .sandbox])
    #expect(try asked(nil, production) == [.production, .production])
    #expect(try asked(production, production) == [.production, .production])
  }

  @Test @EventLoop
  func `an endpoint that is named for the sandbox too, or no longer, is another client after a reload`() throws {
    func app(_ sandbox: String?) throws -> APNsApp {
      self.app("com.a", with: try configuration(endpoint: "https://a.example", sandbox: sandbox))
    }
    let clients = AppClients(
      fallback: try configuration(endpoint: "https://a.example"), apps: [try app("https://a.example")],
      metrics: Metrics(), log: .silent)
    defer { clients.close() }
    func asked(_ bundleID: String) throws -> EnvironmentSet {
      try #require(clients.target(of: bundleID)).asked(in: .production, else: .production)
    }
    #expect(try asked("com.a") == .both)
    #expect(try asked("com.b") == .production, "the fallback, with the same key and gateway")
    #expect(clients.replace(apps: [try app(nil)]).changed == 1)
    #expect(try asked("com.a") == .production)
    #expect(clients.replace(apps: [try app("https://a.example")]).changed == 1)
    #expect(try asked("com.a") == .both)
  }

  @Test func `the gateways are Apple's for both environments, or those of the apps`() throws {
    let directory = AppDirectory(
      apps: [
        app("com.a", with: try configuration()),
        app("com.b", with: try configuration(endpoint: "https://b.example:8443")),
      ], fallback: nil)
    #expect(
      Set(directory.gateways.keys) == [
        "https://api.push.apple.com:443", "https://api.sandbox.push.apple.com:443", "https://b.example:8443",
      ])
  }

  @Test func `keys for one environment have the gateway of that environment only`() throws {
    let key = AppKey(TestKey.credentials, environment: .sandbox)
    let directory = AppDirectory(apps: [try APNsApp(bundleIDs: ["com.a"], keys: [key])], fallback: nil)
    #expect(Array(directory.gateways.keys) == ["https://api.sandbox.push.apple.com:443"])
    #expect(directory.configurations[0].defaultEnvironment == .sandbox)
  }

  @Test func `another environment or topic of a key is a change of its app`() throws {
    func apps(_ environment: PushEnvironment? = nil, _ topics: [String]? = nil) throws -> [APNsApp] {
      let second = APNsConfiguration.Credentials(keyID: "OTHER12345", teamID: "TEAM567890", privateKeyPEM: TestKey.pem)
      return [
        try APNsApp(
          bundleIDs: ["com.a", "com.b"],
          keys: [AppKey(TestKey.credentials), AppKey(second, environment: environment, topics: topics)])
      ]
    }
    let before = AppDirectory(apps: try apps(), fallback: nil)
    func change(_ apps: [APNsApp]) -> AppChange { AppDirectory(apps: apps, fallback: nil).change(from: before) }
    #expect(change(try apps()) == AppChange())
    #expect(change(try apps(.sandbox)) == AppChange(changed: 1))
    #expect(change(try apps(nil, ["com.b"])) == AppChange(changed: 1))
  }

  @Test func `the connections of an app to one gateway are one state, out of reach if some are`() {
    func gateway(
      _ environment: PushEnvironment, _ connections: Int, _ state: AppState.Gateway.State
    ) -> AppState.Gateway {
      AppState.Gateway(
        environment: environment, url: "https://\(environment.rawValue)", connections: connections, state: state)
    }
    #expect(
      AppState.combined([
        gateway(.production, 2, .connected), gateway(.sandbox, 1, .connected), gateway(.production, 1, .unreachable),
        gateway(.sandbox, 0, .connecting),
      ]) == [gateway(.production, 3, .unreachable), gateway(.sandbox, 1, .connecting)])
  }

  @Test func `added, changed and removed apps are counted by their first bundle id`() throws {
    let (first, other) = (try configuration(), try configuration("OTHER12345"))
    let before = AppDirectory(apps: [app("com.a", with: first), app("com.b", with: first)], fallback: nil)
    func change(_ apps: [APNsApp]) -> AppChange { AppDirectory(apps: apps, fallback: nil).change(from: before) }
    #expect(change(before.apps) == AppChange())
    let exchanged = [app("com.a", with: other), app("com.c", with: first)]
    #expect(change(exchanged) == AppChange(added: 1, changed: 1, removed: 1))
    #expect(change([app("com.b", with: first, share: 2), app("com.a", with: first)]) == AppChange(changed: 1))
    #expect(change([app("com.b", "com.x", with: first)]) == AppChange(changed: 1, removed: 1))
  }

  @Test(arguments: PushType.allCases)
  func `the bundle id of a topic is the one that the topic was made from`(type: PushType) {
    for bundleID in ["com.example.app", "com.voip", "a"] {
      #expect(type.bundleID(ofTopic: type.topic(bundleID: bundleID)) == bundleID)
    }
  }
}
