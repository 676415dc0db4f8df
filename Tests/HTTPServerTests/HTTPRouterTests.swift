import Testing

@testable import HTTPServer

struct HTTPRouterTests {
  private let router = HTTPRouter(
    [("/devices", "list"), ("/devices/{deviceToken}", "device"), ("/", "home")], maximumPathBytes: 24
  ) { part in part == "bad" ? nil : String(part) }

  @Test(
    arguments: [
      ("/", "/", "home", nil), ("/devices", "/devices", "list", nil),
      ("/devices/a%20b", "/devices/{deviceToken}", "device", "a%20b"),
    ] as [(String, String, String, String?)])
  func `a path has the endpoint of its route`(path: String, route: String, endpoint: String, parameter: String?) {
    let found = router.route(HTTPRequest(method: "GET", path: path), path: path, isStopping: false)
    #expect(found.route == route)
    #expect(found.endpoint == endpoint)
    #expect(found.parameter == parameter)
  }

  @Test(arguments: [
    "", "/devices/", "/devices/a/b", "/Devices", "/devices/é", "/devices/bad", "/devices/aaaaaaaaaaaaaaaa",
  ])
  func `another path is not a route`(path: String) {
    let found = router.route(HTTPRequest(method: "GET", path: path), path: path, isStopping: true)
    #expect(found.endpoint == nil)
    #expect(found.route == "none")
    #expect(router.endpoint(of: path) == nil)
  }
}
