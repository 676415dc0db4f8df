import DashboardSupport
import HTTPServer
import Testing

@testable import Dashboard

/// Who may use a dashboard without operators.
struct LocalAccessTests {
  private func isLocal(
    host: String?, peer: String = "127.0.0.1", _ fields: [(name: String, value: String)] = []
  ) -> Bool {
    let headers = HTTPHeaders((host.map { [("Host", $0)] } ?? []) + fields)
    return LocalAccess.isLocal(
      HTTPRequest(method: "GET", path: "/", headers: headers, peer: ClientAddress(IPAddress(peer))))
  }

  @Test(arguments: [
    "localhost", "localhost:8081", "127.0.0.1:8081", "127.8.0.1", "[::1]:8081", "LOCALHOST", "a.localhost",
  ])
  func `this machine may`(host: String) {
    #expect(isLocal(host: host))
    #expect(isLocal(host: host, peer: "::1"))
  }

  @Test(arguments: [
    "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "[::2]", "", "0.0.0.0",
    "xlocalhost",
  ])
  func `a name that another site can own may not`(host: String) { #expect(!isLocal(host: host)) }

  @Test func `another machine, a proxy, a unix socket or no host may not`() {
    #expect(!isLocal(host: "localhost", peer: "192.0.2.1"))
    #expect(!isLocal(host: "localhost", peer: "unix"))
    #expect(!isLocal(host: nil))
    #expect(!isLocal(host: "localhost", [("Host", "localhost")]))
    for field in [
      "X-Forwarded-For", "Forwarded", "Via", "X-Real-IP", "X-Forwarded-Host", "x-forwarded-proto", "X-Forwarded-Prefix",
      "X-Client-IP", "True-Client-IP", "CF-Connecting-IP", "X-Envoy-External-Address", "X-Original-URL",
    ] {
      #expect(!isLocal(host: "localhost", [(field, "x")]), "\(field)")
    }
  }

  @Test func `the origin of a browser must be this machine, even if a proxy has changed the host`() {
    #expect(isLocal(host: "127.0.0.1:8081", [("Origin", "http://localhost:8081")]))
    #expect(!isLocal(host: "127.0.0.1:8081", [("Origin", "https://ops.example.com")]))
  }

  @Test func `only loopback addresses are for this machine alone`() {
    for host in ["127.0.0.1", "::1", "localhost"] { #expect(LocalAccess.isLocal(.tcp(host: host, port: 1)), "\(host)") }
    for host in ["0.0.0.0", "::", "", "192.0.2.1", "example.com"] {
      #expect(!LocalAccess.isLocal(.tcp(host: host, port: 1)), "\(host)")
    }
    #expect(!LocalAccess.isLocal(.unix(path: "/run/x")))
  }
}
