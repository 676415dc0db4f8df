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

  @Test func `a session is used, gets a new id after 15 minutes, and ends after 12 hours`() {
    let session = Session(credential(), at: 1_000_000)
    #expect(session.decision(credential(), now: 1_000_000) == .use)
    #expect(session.decision(credential(), now: 1_000_000 + 15 * minute - 1) == .use)
    #expect(session.decision(credential(), now: 1_000_000 + 15 * minute) == .rotate)
    #expect(session.decision(credential(), now: 1_000_000 + 12 * 60 * minute) == .end)
  }

  @Test func `a session ends with its operator, or with the operator's secret`() {
    let session = Session(credential(), at: 1)
    #expect(session.decision(nil, now: 1) == .end)
    #expect(session.decision(credential(isEnabled: false), now: 1) == .end)
    #expect(session.decision(credential("other"), now: 1) == .end)
  }

  @Test func `an earlier id is accepted for requests on their way, and gets no third id`() {
    var session = Session(credential(), at: 1_000_000)
    session.isReplaced = true
    #expect(session.decision(credential(), now: 1_000_000 + 20 * minute) == .use)
  }

  @Test func `a session from the future is none`() {
    #expect(Session(credential(), at: 1_000_000_000).decision(credential(), now: 0) == .end)
  }

  @Test func `a session is read as it was written, and nothing else is one`() {
    var session = Session(credential(), at: 5)
    session.isReplaced = true
    #expect(Session(json: session.json) == session)
    for text in ["", "{}", "[]", "null", #"{"operator":1}"#, "\u{0}", #"{"operator":"a","digest":"b"}"#] {
      #expect(Session(json: Array(text.utf8)) == nil, "\(text)")
    }
  }

  @Test func `over TLS the cookie is secure and bound to the host`() {
    let plain = SessionCookie(isSecure: false).setting("id", seconds: 60)
    #expect(plain == "martlet-session=id; Max-Age=60; Path=/; HttpOnly; SameSite=Lax")
    let secure = SessionCookie(isSecure: true).setting("id", seconds: 60)
    #expect(secure == "__Host-martlet-session=id; Max-Age=60; Path=/; HttpOnly; SameSite=Lax; Secure")
  }

  @Test func `the proxy's word about TLS counts only if the proxy is trusted`() {
    let request = HTTPRequest(
      method: "GET", path: "/", headers: HTTPHeaders([("X-Forwarded-Proto", "https")]), peerAddress: "192.0.2.1")
    var proxies = TrustedProxies()
    #expect(!SessionCookie(request, hasTLS: false, trusting: proxies).isSecure)
    let isAdded = proxies.add("192.0.2.1")
    #expect(isAdded)
    #expect(SessionCookie(request, hasTLS: false, trusting: proxies).isSecure)
    #expect(SessionCookie(request, hasTLS: true, trusting: TrustedProxies()).isSecure)
  }

  @Test func `a cookie that is given twice, or is no id, counts as none`() {
    let cookie = SessionCookie(isSecure: false)
    func id(_ values: String...) -> String? { cookie.id(in: HTTPHeaders(values.map { ("Cookie", $0) })) }
    #expect(id("a=1; martlet-session=Abc_-9; b=2") == "Abc_-9")
    #expect(id("a=1", "martlet-session=x") == "x")
    #expect(id("martlet-session=x; martlet-session=y") == nil)
    #expect(id("martlet-session=x", "martlet-session=x") == nil)
    for value in ["", " ", "é", "a b", "a\"b", "../x", "<script>", String(repeating: "a", count: 65)] {
      #expect(id("martlet-session=\(value)") == nil, "\(value)")
    }
    #expect(id("xmartlet-session=x") == nil)
    // The name of the cookie over TLS means nothing without it, and the other way round.
    #expect(id("__Host-martlet-session=x") == nil)
    #expect(SessionCookie(isSecure: true).id(in: HTTPHeaders([("Cookie", "martlet-session=x")])) == nil)
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
