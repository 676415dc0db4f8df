import Testing

@testable import Queue

struct FirstClaimTests {
  @Test func `a nonce says when its job was claimed first, and orders the jobs of a claim`() throws {
    let prefix = FirstClaim.nonce("2hvnutbcsfscz", 4, at: 1_795_523_947_759)
    #expect(prefix == "2hvnutbcsfscz.4-mwuolkvj")
    let claims = try ["", ".1", ".2", ".10"].map { try #require(FirstClaim(nonce: prefix + $0)) }
    #expect(claims.map(\.at) == Array(repeating: 1_795_523_947_759, count: 4))
    #expect(claims.map(\.sequence) == claims.map(\.sequence).sorted())
    let next = try #require(FirstClaim(nonce: FirstClaim.nonce("2hvnutbcsfscz", 11, at: 1_795_523_947_759)))
    #expect(claims[3].sequence < next.sequence)
    let later = try #require(FirstClaim(nonce: FirstClaim.nonce("a", 1, at: 1_795_523_947_760)))
    #expect(next.sequence < later.sequence)
  }

  @Test(arguments: ["", "a", "2hvnutbcsfscz.4", "2hvnutbcsfscz.4.1", "a.4-", "a.-1", "a.4-_", "a.x-1", "a.4--1"])
  func `a nonce without a time says nothing`(nonce: String) {
    #expect(FirstClaim(nonce: nonce) == nil)
  }
}
