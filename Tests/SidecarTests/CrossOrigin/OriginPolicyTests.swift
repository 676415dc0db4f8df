import HTTPServer
import SidecarSupport
import Testing

@testable import Sidecar

/// The origin policy of docs/http/push-api.md, with the values of the document.
struct OriginPolicyTests {
  private func policy(_ environment: OriginPolicy.Environment) -> OriginPolicy {
    var policy = OriginPolicy()
    policy.environment = environment
    policy.allowedOrigins = ["https://os.ryo.lu"]
    policy.previewHostPrefixes = ["ryos-", "ryo-lu-", "os-ryo-"]
    policy.trustedHostSuffixes = ["*.tailb4fa61.ts.net"]
    return policy
  }

  @Test(arguments: [
    "https://os.ryo.lu", "https://box.tailb4fa61.ts.net", "https://a.b.tailb4fa61.ts.net:8443",
    "https://BOX.tailb4fa61.ts.net",
  ])
  func `production allows the listed origin and the trusted hosts`(origin: String) {
    #expect(policy(.production).allows(origin))
  }

  @Test(arguments: [
    "http://os.ryo.lu", "https://os.ryo.lu:8443", "https://os.ryo.lu.evil.example", "https://evil.example/os.ryo.lu",
    "https://os.ryo.lu@evil.example", "https://user@os.ryo.lu", "https://os.ryo.lu/", "https://os.ryo.lu?x",
    "https://os.ryo.lu#x", "https://os.ryo.lu\\.evil.example", "https://os.ryo.lu:443@evil.example", "//os.ryo.lu",
    "https:/os.ryo.lu", "https:os.ryo.lu", "os.ryo.lu", "https://", "https://.", "https://os.ryo.lu.", "null", "NULL",
    "*", "", "https://os.ryo.lu https://evil.example", "https://os.ryo.lu,https://evil.example",
    "https://o\u{FF53}.ryo.lu", "https://os.ryo.lu\u{301}", "https://\u{301}os.ryo.lu", "https://os.ryo.lu:",
    "https://os.ryo.lu:0", "https://os.ryo.lu:65979",
    "https://os.ryo.lu:+443", "https://os.ryo.lu:44a", "https://HTTPS://os.ryo.lu", "1https://os.ryo.lu",
    "https://[os.ryo.lu]", "https://[]", "http://localhost:3000", "https://ryos-abc.vercel.app",
    "http://box.tailb4fa61.ts.net", "http://a.b.tailb4fa61.ts.net:8443", "tauri://box.tailb4fa61.ts.net",
    "https://tailb4fa61.ts.net", "https://eviltailb4fa61.ts.net", "https://.tailb4fa61.ts.net",
    "https://tailb4fa61.ts.net.evil.example", "https://box.tailb4fa61.ts.net@evil.example",
    "https://evil.example#.tailb4fa61.ts.net", "https://evil.example/.tailb4fa61.ts.net",
    "https://evil.example\\.tailb4fa61.ts.net", "https://evil.example%2f.tailb4fa61.ts.net", "file:///etc/passwd",
  ])
  func `production refuses everything else`(origin: String) {
    #expect(!policy(.production).allows(origin))
  }

  @Test(arguments: [
    ("https://ryos-git-main-x.vercel.app", true), ("https://ryo-lu-1.vercel.app", true),
    ("https://os-ryo-1.vercel.app", true), ("https://RYOS-1.VERCEL.APP", true),
    ("https://box.tailb4fa61.ts.net", true), ("http://box.tailb4fa61.ts.net", true), ("https://os.ryo.lu", false),
    ("https://evil.vercel.app", false),
    ("https://xryos-1.vercel.app", false), ("https://ryos-1.vercel.app.evil.example", false),
    ("https://ryos-1.evilvercel.app", false), ("https://ryos-1@evil.vercel.app", false),
    ("http://localhost:3000", false), ("null", false),
  ])
  func `preview allows the project's hosts under vercel.app`(origin: String, isAllowed: Bool) {
    #expect(policy(.preview).allows(origin) == isAllowed)
  }

  @Test(arguments: [
    ("http://localhost", true), ("http://localhost:80", true), ("https://localhost", true),
    ("https://localhost:443", true), ("http://localhost:3000", true), ("http://LOCALHOST:5173", true),
    ("http://127.0.0.1:3000", true), ("https://127.0.0.1", true), ("http://[::1]:3000", true), ("http://[::1]", true),
    ("tauri://localhost", true), ("https://box.tailb4fa61.ts.net", true), ("http://localhost:8080", false),
    ("http://localhost:30000", false), ("http://localhost.evil.example:3000", false),
    ("http://localhost@evil.example:3000", false), ("http://127.0.0.1.evil.example", false),
    ("http://127.0.0.2:3000", false), ("http://[::2]:3000", false), ("http://::1:3000", false),
    ("http://[::1", false), ("http://[::1]x:3000", false), ("https://os.ryo.lu", false), ("null", false),
  ])
  func `development allows this machine on the usual ports`(origin: String, isAllowed: Bool) {
    #expect(policy(.development).allows(origin) == isAllowed)
  }

  @Test(arguments: ["*.example.net", ".example.net", "example.net", "EXAMPLE.net"])
  func `a trusted suffix matches every host below it, in each spelling`(suffix: String) {
    var policy = OriginPolicy()
    policy.trustedHostSuffixes = [suffix]
    #expect(policy.allows("https://a.example.net"))
    #expect(!policy.allows("https://example.net"))
    #expect(!policy.allows("https://badexample.net"))
  }

  @Test(arguments: ["", "*", ".", "*."])
  func `an empty suffix matches no host`(suffix: String) {
    var policy = OriginPolicy()
    policy.environment = .preview
    policy.trustedHostSuffixes = [suffix]
    policy.previewHostPrefixes = [""]
    #expect(!policy.allows("https://evil.example"))
    #expect(!policy.allows("https://evil.vercel.app"))
  }

  @Test func `a listed origin is compared in the form that browsers write`() {
    var policy = OriginPolicy()
    policy.environment = .production
    policy.allowedOrigins = ["HTTPS://App.Example.com:443"]
    #expect(policy.allows("https://app.example.com"))
    #expect(!policy.allows("https://app.example.com:443"))
  }

  private static let requests: [(fields: [(String, String)], expected: RequestOrigin)] = [
    ([], RequestOrigin.none), ([("Origin", "https://a.example")], .named("https://a.example")),
    ([("origin", " https://a.example ")], .named("https://a.example")),
    ([("Origin", ""), ("Referer", "")], .none),
    ([("Referer", "https://A.example:443/path?q=https://b.example#x")], .named("https://a.example")),
    ([("Referer", "http://a.example:3000")], .named("http://a.example:3000")),
    ([("Referer", "https://a.example?x")], .named("https://a.example")),
    ([("Origin", "https://a.example"), ("Referer", "https://b.example/")], .named("https://a.example")),
    ([("Origin", "null"), ("Referer", "https://b.example/")], .named("null")),
    ([("Origin", "https://a.example"), ("Origin", "https://b.example")], .unreadable),
    ([("Referer", "https://a.example/"), ("Referer", "https://b.example/")], .unreadable),
    ([("Referer", "https://a.example@evil.example/")], .unreadable),
    ([("Referer", "about:blank")], .unreadable), ([("Referer", "/path")], .unreadable),
  ]

  @Test(arguments: requests)
  func `the origin is the Origin header, else that of Referer`(
    fields: [(String, String)], expected: RequestOrigin
  ) {
    #expect(RequestOrigin(HTTPHeaders(fields.map { (name: $0.0, value: $0.1) })) == expected)
  }
}
