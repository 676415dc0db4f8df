import Program
import Testing
import TestSupport

@testable import APNs
@testable import Martlet
@testable import PushModel

/// What the keys of an app in the file of `MARTLET_APPS` are for.
struct AppKeysTests {
  private let directory: AppsDirectory

  init() async throws { directory = try await AppsDirectory.withKeys() }

  private func faults(_ apps: String...) throws -> [String] { try directory.faults(apps) }

  @Test func `a key may be for one environment and some bundle ids, and the sandbox may have a gateway of its own`()
    throws
  {
    try directory.write(
      apps: #"""
        {"bundleIds":["com.a","com.b"],"teamId":"TEAMAAAAA1","sandboxEndpoint":"https://sandbox.example",
        "broadcastEndpoint":"https://broadcast.example","channelsEndpoint":"https://channels.example:2196",
        "keys":[{"keyId":"KEYAAAAAA1","path":"KEYAAAAAA1.p8","environment":"production"},
        {"keyId":"KEYAAAAAA2","path":"KEYAAAAAA2.p8","environment":"development","topics":["com.b"]}]}
        """#)
    let (apps, faults) = directory.read()
    #expect(faults == [])
    func keys(_ bundleID: String, _ environment: PushEnvironment) -> [String]? {
      apps.first?.configuration(of: bundleID, in: environment)?.keyNames.map(\.keyID)
    }
    #expect(keys("com.a", .production) == ["KEYAAAAAA1"])
    #expect(keys("com.a", .sandbox) == nil)
    #expect(keys("com.b", .sandbox) == ["KEYAAAAAA2"])
    #expect(apps.first?.configurations.last?.origins == ["https://sandbox.example:443"])
    let configuration = apps.first?.configuration(of: "com.b", in: .sandbox)
    #expect(configuration?.broadcastOrigin(of: .sandbox).url == "https://broadcast.example:443")
    #expect(configuration?.channelsURL(of: .sandbox) == "https://channels.example:2196")
  }

  @Test func `a key for a bundle id of another app, and a bundle id without a key, are faults`() throws {
    let faults = try faults(
      #"""
      {"bundleIds":["com.a","com.b"],"teamId":"TEAMAAAAA1","keys":[{"keyId":"KEYAAAAAA1","path":"KEYAAAAAA1.p8","topics":["com.x"]},
      {"keyId":"KEYAAAAAA2","path":"KEYAAAAAA2.p8","environment":"staging"}]}
      """#,
      #"{"bundleIds":["com.c","com.d"],"teamId":"TEAMBBBBB1","keys":[{"keyId":"KEYBBBBBB1","path":"KEYBBBBBB1.p8","topics":["com.c"]}]}"#
    )
    #expect(
      faults == [
        "apps[0].keys[0].topics[0]: 'com.x'; expected a bundle id of this app",
        "apps[0].keys[1].environment: 'staging'; expected production or sandbox",
        "apps[1].keys: no key may sign for com.d; expected its bundle id in the topics of a key, or a key without topics",
      ])
  }

  @Test func `two keys differ`() throws {
    let key = #"{"keyId":"KEYAAAAAA1","path":"KEYAAAAAA1.p8"}"#
    func entry(_ keys: [String]) -> String {
      #"{"bundleIds":["com.a"],"teamId":"TEAMAAAAA1","keys":[\#(keys.joined(separator: ","))]}"#
    }
    #expect(
      try faults(entry([key, key])) == [
        "apps[0].keys[1].keyId: KEYAAAAAA1 for the second time; expected different keys"
      ])
    let nine = Array(repeating: key, count: 9)
    #expect(try faults(entry(nine)) == ["apps[0].keys: a list of 9; expected a list of 1 to 8"])
  }
}
