import PushModel
import Registry
import Testing
@testable import LiveActivities

@testable import Operations

/// What Redis knows of channels, compared with APNs' list.
struct ChannelEntryTests {
  private static let channels = [
    Channel("a", of: "com.a", storage: .newest, ids: [.production: "p1", .sandbox: "s1"]),
    Channel("b", of: "com.a", storage: .none, ids: [.production: "p2"]),
  ]

  private func states(_ list: [String]?, in environment: PushEnvironment = .production) -> [String] {
    ChannelEntry.compared(Self.channels, in: environment, with: list).map {
      "\($0.name ?? "-") \($0.id) \($0.storage?.rawValue ?? "-") \($0.state.rawValue)"
    }
  }

  @Test func `what both know is ok, what only one knows is missing or an orphan`() {
    #expect(states(["p1", "x", "w"]) == ["a p1 newest ok", "b p2 none missing", "- w - orphan", "- x - orphan"])
    #expect(states(["p1"], in: .sandbox) == ["a s1 newest missing", "- p1 - orphan"])
    #expect(states([]) == ["a p1 newest missing", "b p2 none missing"])
  }

  @Test func `without APNs' list nothing is known`() {
    #expect(states(nil) == ["a p1 newest unknown", "b p2 none unknown"])
  }
}
