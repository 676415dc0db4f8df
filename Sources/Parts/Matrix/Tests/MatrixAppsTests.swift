import PushModel
import SidecarSupport
import Testing

@testable import Matrix
@testable import Sidecar

struct MatrixAppsTests {
  private static func app(_ bundleID: String) -> MatrixApps.App {
    MatrixApps.App(bundleID: bundleID, environment: .production)
  }

  private static let apps = MatrixApps([
    "*": app("any"), "im.vendor.*": app("vendor"), "im.vendor.app.ios.*": app("ios"), "*.dev": app("dev"),
    "im.vendor.app.ios.prod": app("exact"), "im.vendor.app.ios.prod*": app("beginning"), "a*b*c": app("parts"),
    "*x*x*": app("twice"),
  ])

  @Test(arguments: [
    ("im.vendor.app.ios.prod", "exact"), ("im.vendor.app.ios.prod2", "beginning"), ("im.vendor.app.ios.dev", "ios"),
    ("im.vendor.other", "vendor"), ("org.other.dev", "dev"), (".dev", "dev"), ("dev", "any"), ("abc", "parts"),
    ("a.b.b.c", "parts"), ("acb", "any"), ("axxb", "twice"), ("xx", "twice"), ("x", "any"), ("IM.VENDOR.X", "any"),
    ("ä", "any"),
  ])
  func `the most specific pattern decides`(id: String, bundleID: String) {
    #expect(Self.apps.app(of: id)?.bundleID == bundleID)
  }

  @Test(arguments: ["im.vendor.app", "xim.vendor.app.", "", "im.vendor.app.\n", String(repeating: "i", count: 65)])
  func `an id that no pattern matches has no app`(id: String) {
    let apps = MatrixApps(["im.vendor.app.*": Self.app("a"), "im.vendor.app": Self.app("b")])
    #expect(apps.app(of: id)?.bundleID == (id == "im.vendor.app" ? "b" : id == "im.vendor.app.\n" ? "a" : nil))
  }

  @Test func `an id longer than the specification allows has no app`() {
    #expect(Self.apps.app(of: String(repeating: "i", count: 64)) != nil)
    #expect(Self.apps.app(of: String(repeating: "i", count: 65)) == nil)
  }

  @Test func `a pattern of many wildcards ends at once`() {
    let apps = MatrixApps([String(repeating: "*a", count: 31) + "b": Self.app("a")])
    #expect(apps.app(of: String(repeating: "a", count: 64)) == nil)
  }
}
