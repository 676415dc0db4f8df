import Testing

@testable import HTTPServer

/// The client address of a request.
struct TrustedProxiesTests {
  private func client(_ peer: String, _ forwarded: [String] = [], trusting words: [String] = []) -> String {
    var proxies = TrustedProxies()
    for word in words where !proxies.add(word) { Issue.record("\(word) is not a block") }
    let headers = HTTPHeaders(forwarded.map { (name: "X-Forwarded-For", value: $0) })
    return proxies.clientAddress(
      of: HTTPRequest(method: "GET", path: "/", headers: headers, peer: ClientAddress(IPAddress(peer)))
    ).client
  }

  @Test func `without trusted proxies the peer is the client, regardless of its headers`() {
    #expect(client("192.0.2.1", ["198.51.100.1"]) == "192.0.2.1")
    #expect(client("192.0.2.1", ["198.51.100.1"], trusting: ["192.0.2.2", "2001:db8::/32"]) == "192.0.2.1")
    #expect(client("unix", ["198.51.100.1"]) == "unix")
  }

  @Test func `behind trusted proxies the client is the right-most address that is not a proxy`() {
    let proxies = ["10.0.0.0/8", "192.0.2.1"]
    #expect(client("192.0.2.1", ["198.51.100.1"], trusting: proxies) == "198.51.100.1")
    #expect(client("192.0.2.1", ["198.51.100.9, 198.51.100.1 ,10.1.2.3"], trusting: proxies) == "198.51.100.1")
    #expect(client("192.0.2.1", ["198.51.100.9", "198.51.100.1", "10.1.2.3"], trusting: proxies) == "198.51.100.1")
    #expect(client("192.0.2.1", ["10.0.0.1, 10.0.0.2"], trusting: proxies) == "10.0.0.1")
    #expect(client("192.0.2.1", [], trusting: proxies) == "192.0.2.1")
    #expect(client("unix", ["198.51.100.1"], trusting: ["unix"]) == "198.51.100.1")
    #expect(client("unix", [], trusting: ["unix"]) == "unix")
  }

  @Test(arguments: ["unknown", "", "198.51.100", "198.51.100.1.", "1.2.3.4:x", "[::1", "[::1]x", "a, ", "\u{0}"])
  func `an entry that is not an address stops the search`(entry: String) {
    #expect(client("192.0.2.1", ["198.51.100.9, \(entry)"], trusting: ["192.0.2.1"]) == "192.0.2.1")
    #expect(client("192.0.2.1", ["198.51.100.9, \(entry), 192.0.2.1"], trusting: ["192.0.2.1"]) == "192.0.2.1")
  }

  @Test func `a port after an address is ignored`() {
    #expect(client("unix", ["198.51.100.1:4711"], trusting: ["unix"]) == "198.51.100.1")
    #expect(client("unix", ["[2001:db8:1:2::3]:443"], trusting: ["unix"]) == "2001:db8:1:2::/64")
    #expect(client("unix", ["[2001:db8:1:2::3]"], trusting: ["unix"]) == "2001:db8:1:2::/64")
  }

  @Test func `an IPv6 client is its network, and both forms of an IPv4 address are equal`() {
    #expect(client("2001:db8:1:2:3:4:5:6") == client("2001:DB8:1:2::9"))
    #expect(client("2001:db8:1:2::1") != client("2001:db8:1:3::1"))
    #expect(client("::ffff:192.0.2.1") == "192.0.2.1")
    #expect(client("::ffff:10.0.0.1", ["::ffff:192.0.2.7"], trusting: ["10.0.0.0/8"]) == "192.0.2.7")
    #expect(client("fe80::1%eth0", ["192.0.2.7"], trusting: ["fe80::/10"]) == "192.0.2.7")
  }

  @Test(arguments: [
    ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false), ("10.0.0.1/8", "10.9.9.9", true),
    ("192.0.2.128/25", "192.0.2.127", false), ("192.0.2.128/25", "192.0.2.128", true), ("0.0.0.0/0", "9.9.9.9", true),
    ("0.0.0.0/0", "::1", false), ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false),
    ("192.0.2.1/32", "192.0.2.1", true), ("2001:db8::/33", "2001:db8:7fff::1", true),
    ("2001:db8::/33", "2001:db8:8000::1", false), ("::1", "::1", true), ("::/0", "2001:db8::1", true),
  ])
  func `a block contains the addresses of its prefix`(block: String, address: String, isContained: Bool) throws {
    let range = try #require(AddressRange(block))
    #expect(range.contains(try #require(IPAddress(address))) == isContained)
  }

  @Test(arguments: [
    "", "/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/", "10.0.0.0/8/8", "10.0.0", "::1/129", "proxy",
    "fe80::1%eth0", "10.0.0.0/8 ", "*",
  ])
  func `text that is not a block is not added`(text: String) {
    var proxies = TrustedProxies()
    let isAdded = proxies.add(text)
    #expect(!isAdded)
  }
}
