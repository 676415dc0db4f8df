import DashboardSupport
import HTTPServer
import Testing

@testable import Credentials
@testable import Dashboard

/// Sessions and their cookies. Times are unix milliseconds.
struct SessionTests {
  private let minute: Int64 = 60_000

  private func credential(_ digest: String = "d", isEnabled: Bool = true) -> Credential {
    Credential(kind: .operator, name: "anna", digest: digest, createdAt: 1, isEnabled: isEnabled, role: .admin)
  }

  private let id = SessionID()

  private func session(at now: Int64 = 1_000_000) -> Session { Session(credential(), id, at: now) }

  @Test func `a session is used, gets a new id after 15 minutes, and ends after 12 hours`() {
    #expect(session().decision(credential(), id, now: 1_000_000) == .use)
    #expect(session().decision(credential(), id, now: 1_000_000 + 15 * minute - 1) == .use)
    #expect(session().decision(credential(), id, now: 1_000_000 + 15 * minute) == .rotate)
    #expect(session().decision(credential(), id, now: 1_000_000 + 12 * 60 * minute) == .end)
  }

  @Test func `a session ends with its operator, or with the operator's secret`() {
    #expect(session(at: 1).decision(nil, id, now: 1) == .end)
    #expect(session(at: 1).decision(credential(isEnabled: false), id, now: 1) == .end)
    #expect(session(at: 1).decision(credential("other"), id, now: 1) == .end)
  }

  @Test func `an earlier id is accepted for a minute, and gets no third id`() {
    let (next, third) = (id.rotated(), id.rotated())
    let rotated = session().rotated(to: next, at: 5_000_000)
    #expect(rotated.decision(credential(), next, now: 5_000_000) == .use)
    #expect(rotated.decision(credential(), id, now: 5_000_000 + minute - 1) == .use)
    #expect(rotated.decision(credential(), id, now: 5_000_000 + minute) == .refuse)
    let again = rotated.rotated(to: third, at: 5_000_001)
    #expect(again.decision(credential(), next, now: 5_000_001) == .use)
    #expect(again.decision(credential(), id, now: 5_000_001) == .refuse)
    #expect(again.decision(credential(), id.rotated(), now: 5_000_001) == .refuse)
  }

  @Test func `a session from the future is none`() {
    #expect(session(at: 1_000_000_000).decision(credential(), id, now: 0) == .end)
  }

  @Test func `a session is read as it was written, and nothing else is one`() {
    let rotated = session().rotated(to: id.rotated(), at: 7)
    #expect(Session(json: session().json) == session())
    #expect(Session(json: rotated.json) == rotated)
    #expect(!String(decoding: rotated.json, as: UTF8.self).contains(id.secret))
    for text in ["", "{}", "[]", "null", #"{"operator":1}"#, "\u{0}", #"{"operator":"a","digest":"b"}"#] {
      #expect(Session(json: Array(text.utf8)) == nil, "\(text)")
    }
  }

  @Test func `an id names its sign-in and has a secret`() {
    #expect(SessionID(id.text) == id)
    #expect(id.rotated().signIn == id.signIn && id.rotated().secret != id.secret)
    for text in ["", ".", "a", "a.", ".a", "a.b.c"] { #expect(SessionID(text) == nil, "\(text)") }
  }

  @Test func `over TLS the cookie is secure and bound to the host`() throws {
    let id = try #require(SessionID("a.b"))
    let plain = SessionCookie(isSecure: false).setting(id, seconds: 60)
    #expect(plain == "martlet-session=a.b; Max-Age=60; Path=/; HttpOnly; SameSite=Lax")
    let secure = SessionCookie(isSecure: true).setting(id, seconds: 60)
    #expect(secure == "__Host-martlet-session=a.b; Max-Age=60; Path=/; HttpOnly; SameSite=Lax; Secure")
  }

  @Test(arguments: [
    ("https", true), ("HTTPS", true), ("https,http", true), (" https , http", true), ("http,https", false),
    ("http", false), ("", false),
  ])
  func `of a chain of proxies the one next to the browser says whether it speaks TLS`(value: String, isSecure: Bool) {
    let request = HTTPRequest(
      method: "GET", path: "/", headers: HTTPHeaders([("X-Forwarded-Proto", value)]),
      peer: ClientAddress(IPAddress("192.0.2.1")))
    var proxies = TrustedProxies()
    let isAdded = proxies.add("192.0.2.1")
    #expect(isAdded)
    #expect(SessionCookie(request, hasTLS: false, trusting: proxies).isSecure == isSecure)
  }

  @Test func `the proxy's word about TLS counts only if the proxy is trusted`() {
    let request = HTTPRequest(
      method: "GET", path: "/", headers: HTTPHeaders([("X-Forwarded-Proto", "https")]),
      peer: ClientAddress(IPAddress("192.0.2.1")))
    var proxies = TrustedProxies()
    #expect(!SessionCookie(request, hasTLS: false, trusting: proxies).isSecure)
    let isAdded = proxies.add("192.0.2.1")
    #expect(isAdded)
    #expect(SessionCookie(request, hasTLS: false, trusting: proxies).isSecure)
    #expect(SessionCookie(request, hasTLS: true, trusting: TrustedProxies()).isSecure)
  }

  @Test func `a cookie that is given twice, or is no id, counts as none`() {
    let cookie = SessionCookie(isSecure: false)
    func id(_ values: String...) -> String? { cookie.id(in: HTTPHeaders(values.map { ("Cookie", $0) }))?.text }
    #expect(id("a=1; martlet-session=Abc_.-9; b=2") == "Abc_.-9")
    #expect(id("a=1", "martlet-session=x.y") == "x.y")
    #expect(id("martlet-session=x.y; martlet-session=z.y") == nil)
    #expect(id("martlet-session=x.y", "martlet-session=x.y") == nil)
    for value in [
      "", " ", "é.a", "a. b", "a\"b.c", "../x", "<script>.a", "a", "a." + String(repeating: "a", count: 127),
    ] {
      #expect(id("martlet-session=\(value)") == nil, "\(value)")
    }
    #expect(id("xmartlet-session=x.y") == nil)
    // The name of the cookie over TLS means nothing without it, and the other way round.
    #expect(id("__Host-martlet-session=x.y") == nil)
    #expect(SessionCookie(isSecure: true).id(in: HTTPHeaders([("Cookie", "martlet-session=x.y")])) == nil)
  }

  @Test func `Basic credentials are read once, with colons in the secret`() {
    func basic(_ values: String...) -> BasicCredentials {
      BasicCredentials(HTTPHeaders(values.map { ("Authorization", $0) }))
    }
    #expect(basic() == .none)
    #expect(basic("Basic YTpiOmM=") == .named(name: "a", secret: "b:c"))
    #expect(basic("basic YTpi") == .named(name: "a", secret: "b"))
    for value in [
      "Bearer x", "Basic", "Basic !", "Basic YQ==", "Basic /w==", "Basic " + String(repeating: "A", count: 2000),
    ] {
      #expect(basic(value) == .invalid, "\(value)")
    }
    #expect(basic("Basic YTpi", "Basic YTpi") == .invalid)
  }
}
