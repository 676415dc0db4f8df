import HTTPServer
import SidecarSupport
import Testing

@testable import Sidecar

struct BearerCredentialsTests {
  private static let table: [(fields: [(String, String)], expected: BearerCredentials)] = [
    ([("Authorization", "Bearer t"), ("X-Username", "alice")], BearerCredentials.named(username: "alice", token: "t")),
    ([("authorization", "bEaReR   t "), ("x-username", " Alice ")], .named(username: "alice", token: "t")),
    ([("Authorization", "Bearer a b"), ("X-Username", "alice")], .named(username: "alice", token: "a b")),
    ([("Authorization", "Bearer t")], .missing), ([("X-Username", "alice")], .missing), ([], .missing),
    ([("Authorization", "Bearer t"), ("X-Username", "  ")], .missing),
    ([("Authorization", "Bearer"), ("X-Username", "alice")], .missing),
    ([("Authorization", "Bearer  "), ("X-Username", "alice")], .missing),
    ([("Authorization", "Basic t"), ("X-Username", "alice")], .missing),
    ([("Authorization", "Bearert"), ("X-Username", "alice")], .missing),
    ([("Authorization", ""), ("X-Username", "alice")], .missing),
    ([("Authorization", "Bearer t"), ("X-Username", "alice"), ("X-Username", "bob")], .invalid),
    ([("Authorization", "Bearer t"), ("Authorization", "Bearer t"), ("X-Username", "alice")], .invalid),
    ([("Authorization", "Bearer " + String(repeating: "t", count: 513)), ("X-Username", "alice")], .invalid),
  ]

  @Test(arguments: table)
  func `credentials are read from two header fields`(fields: [(String, String)], expected: BearerCredentials) {
    #expect(BearerCredentials(HTTPHeaders(fields.map { (name: $0.0, value: $0.1) })) == expected)
  }
}
