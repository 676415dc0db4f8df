import DashboardSupport
import HTTPServer
import Testing

@testable import Dashboard

/// The table of Go's `net/http` tests for CrossOriginProtection, and what its documentation says. Only origins that no browser
/// sends, with a path or a user, are judged more strictly.
struct CrossOriginProtectionTests {
  private func isAllowed(
    _ method: String, _ fields: [(name: String, value: String)], host: String = "example.com", trusting: [String] = []
  ) -> Bool {
    var proxies = TrustedProxies()
    for word in trusting where !proxies.add(word) { Issue.record("\(word)") }
    let headers = HTTPHeaders([("Host", host)] + fields)
    let request = HTTPRequest(method: method, path: "/", headers: headers, peer: ClientAddress(IPAddress("192.0.2.1")))
    return CrossOriginProtection(trustedProxies: proxies).allows(request)
  }

  @Test(arguments: [
    ("POST", "same-origin", "", true), ("POST", "none", "", true), ("POST", "cross-site", "", false),
    ("POST", "same-site", "", false), ("POST", "", "", true), ("POST", "", "https://example.com", true),
    ("POST", "", "http://example.com", true), ("POST", "", "https://attacker.example", false),
    ("POST", "", "null", false), ("GET", "cross-site", "", true), ("HEAD", "cross-site", "", true),
    ("OPTIONS", "cross-site", "", true), ("PUT", "cross-site", "", false), ("PUT", "same-origin", "", true),
    ("POST", "same-origin", "https://attacker.example", true), ("POST", "unknown", "https://example.com", false),
    ("POST", "", "https://example.com:8443", false), ("POST", "", "https://example.com/", false),
    ("POST", "", "https://user@example.com", false), ("POST", "", "example.com", false), ("POST", "", "://", false),
  ])
  func `a request is judged as Go judges it`(method: String, site: String, origin: String, isAllowed: Bool) {
    var fields: [(name: String, value: String)] = []
    if !site.isEmpty { fields.append(("Sec-Fetch-Site", site)) }
    if !origin.isEmpty { fields.append(("Origin", origin)) }
    #expect(self.isAllowed(method, fields) == isAllowed)
  }

  @Test func `plain HTTP in a private network works with the port of the address`() {
    #expect(isAllowed("POST", [("Origin", "http://10.0.0.5:8081")], host: "10.0.0.5:8081"))
    #expect(!isAllowed("POST", [("Origin", "http://10.0.0.5:9999")], host: "10.0.0.5:8081"))
  }

  @Test func `the host that a proxy forwards counts only if the proxy is trusted`() {
    let fields: [(name: String, value: String)] = [
      ("Origin", "http://ops.internal"), ("X-Forwarded-Host", "ops.internal"),
    ]
    #expect(!isAllowed("POST", fields, host: "127.0.0.1:8081"))
    #expect(isAllowed("POST", fields, host: "127.0.0.1:8081", trusting: ["192.0.2.1"]))
  }

  @Test func `of a chain of proxies the host counts that the one next to the browser forwards`() {
    func isAllowed(_ forwarded: String) -> Bool {
      self.isAllowed(
        "POST", [("Origin", "http://ops.internal"), ("X-Forwarded-Host", forwarded)], host: "127.0.0.1:8081",
        trusting: ["192.0.2.1"])
    }
    #expect(isAllowed("ops.internal, proxy.internal"))
    #expect(!isAllowed("proxy.internal, ops.internal"))
  }

  @Test func `a forwarded host excuses no other site`() {
    #expect(
      !isAllowed(
        "POST", [("Sec-Fetch-Site", "cross-site"), ("Origin", "http://a"), ("X-Forwarded-Host", "a")],
        trusting: ["192.0.2.1"]))
  }
}
