import Testing

@testable import APNs
@testable import PushModel

struct APNsConfigurationTests {
  private func make(
    keyID: String = "ABCDE12345", teamID: String = "TEAM567890", pem: String = TestKey.pem, endpoint: String? = nil,
    connections: Int = 1
  ) throws(APNsError) -> APNsConfiguration {
    try APNsConfiguration(
      keys: [.init(keyID: keyID, teamID: teamID, privateKeyPEM: pem)],
      gateway: .init(endpointOverride: endpoint), connectionsPerEnvironment: connections)
  }

  @Test func `each environment has Apple's gateway unless an endpoint replaces both`() throws {
    let apple = try make()
    #expect(apple.origin(of: .production).url == "https://api.push.apple.com:443")
    #expect(apple.origin(of: .sandbox).authority == "api.sandbox.push.apple.com")
    let own = try make(endpoint: "https://127.0.0.1:8443/ignored?path")
    #expect(own.origin(of: .production) == own.origin(of: .sandbox))
    #expect(own.origin(of: .production).url == "https://127.0.0.1:8443")
    #expect(own.origin(of: .production).authority == "127.0.0.1:8443")
  }

  @Test(arguments: ["http://a.example", "a b", "", "https://", "https://user@host", "ftp://x", "https://h:99999"])
  func `an endpoint that is not an https origin is refused`(endpoint: String) {
    #expect(throws: APNsError.self) { try make(endpoint: endpoint) }
  }

  @Test(arguments: [
    "", "garbage", TestKey.p384, TestKey.publicPEM, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
  ])
  func `a key that is not a P-256 key is refused and never shown`(pem: String) {
    do throws(APNsError) {
      _ = try make(pem: pem)
      Issue.record("the key was accepted")
    } catch {
      #expect(error.description.contains("P-256"))
      #expect(pem.isEmpty || !error.description.contains(pem))
    }
  }

  @Test(arguments: ["", "A\"B", "ABC 12345", "ÄBCDE12345"]) func `ids are letters and digits`(id: String) {
    #expect(throws: APNsError.self) { try make(keyID: id) }
    #expect(throws: APNsError.self) { try make(teamID: id) }
  }

  @Test(arguments: [1, 17, 64]) func `up to 64 connections are allowed`(count: Int) throws {
    #expect(try make(connections: count).connectionsPerEnvironment == count)
  }

  @Test func `invalid numbers of connections are refused`() {
    #expect(throws: APNsError.self) { try make(connections: 0) }
    #expect(throws: APNsError.self) { try make(connections: 65) }
  }
}
