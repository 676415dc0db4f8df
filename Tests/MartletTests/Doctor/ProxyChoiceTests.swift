import Program
import Testing

@testable import Martlet

struct ProxyChoiceTests {
  private static let apns = "https://api.push.apple.com"

  private func choice(_ environment: [String: String], _ url: String = apns) -> String? {
    ProxyChoice(for: url, in: environment).map { "\($0.variable) \($0.address)" }
  }

  @Test func `the variables of libcurl name the proxy, in its order, and no password is shown`() {
    #expect(choice([:]) == nil)
    #expect(choice(["https_proxy": "http://me:secret@proxy.example:3128/"]) == "https_proxy proxy.example:3128")
    #expect(choice(["HTTPS_PROXY": "proxy:3128", "all_proxy": "other:1"]) == "HTTPS_PROXY proxy:3128")
    #expect(choice(["https_proxy": "", "ALL_PROXY": "socks5h://[::1]:1080"]) == "ALL_PROXY [::1]:1080")
    #expect(choice(["http_proxy": "proxy:3128"]) == nil)
  }

  @Test(arguments: ["*", "api.push.apple.com", "apple.com", ".apple.com", "a.example, push.apple.com", "a APPLE.com"])
  func `hosts that no_proxy names are reached without it`(list: String) {
    #expect(choice(["https_proxy": "proxy:3128", "no_proxy": list]) == nil)
    #expect(choice(["https_proxy": "proxy:3128", "NO_PROXY": list]) == nil)
  }

  @Test(arguments: ["", "example.com", "le.com", "push.apple.com.example"])
  func `other hosts are reached through it`(list: String) {
    #expect(choice(["https_proxy": "proxy:3128", "no_proxy": list]) == "https_proxy proxy:3128")
  }
}
