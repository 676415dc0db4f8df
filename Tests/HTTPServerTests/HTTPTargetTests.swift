import Testing

@testable import HTTPServer

struct HTTPTargetTests {
  @Test func `the path stays as it was sent`() throws {
    #expect(try #require(HTTPTarget(parsing: "/devices/a%2Fb?x=1")).path == "/devices/a%2Fb")
  }

  @Test func `query items are decoded and repeated ones kept`() throws {
    let target = try #require(HTTPTarget(parsing: "/?a=1+2&a=%C3%A9&b&=c&d=e=f"))
    #expect(target.query.map(\.name) == ["a", "a", "b", "", "d"])
    #expect(target.query.map(\.value) == ["1 2", "é", "", "c", "e=f"])
  }

  @Test(arguments: ["http://x/a/b?c=1", "HTTPS://[::1]:80/a/b?c=1"])
  func `an address is read as its path`(target: String) throws {
    let target = try #require(HTTPTarget(parsing: target))
    #expect(target.path == "/a/b")
    #expect(target.query.map(\.name) == ["c"])
  }

  @Test(arguments: ["http://", "http:///a", "http:/a", "http:a/b", "ftp://x/a", "x:80", "http://x", "://x/a"])
  func `an address without a path is refused`(target: String) {
    #expect(HTTPTarget(parsing: target) == nil)
  }

  @Test(arguments: ["", "*", "host/path", "/?a=%", "/?a=%4", "/?a=%zz", "/?a=%ff", "/?%ff=a"])
  func `a malformed target is refused`(target: String) {
    #expect(HTTPTarget(parsing: target) == nil)
  }

  @Test func `addresses are parsed`() throws {
    #expect(try HTTPAddress(parsing: "127.0.0.1:80") == .tcp(host: "127.0.0.1", port: 80))
    #expect(try HTTPAddress(parsing: "[::1]:0") == .tcp(host: "::1", port: 0))
    #expect(try HTTPAddress(parsing: ":8080") == .tcp(host: "", port: 8080))
    #expect(try HTTPAddress(parsing: "unix:/tmp/s") == .unix(path: "/tmp/s"))
  }

  @Test(arguments: ["", "localhost", "a:b", "a:70000", "::1:80", "unix:"])
  func `text that is not an address is refused and quoted`(text: String) {
    #expect(throws: HTTPServerError.badAddress(text)) { try HTTPAddress(parsing: text) }
  }

  @Test(arguments: [
    (10_000, 1 << 20, 10_000), (10_000, 10_128, 10_000), (10_000, 1024, 896), (10_000, 64, 32), (10, 64, 10), (5, 1, 1),
  ])
  func `some descriptors are reserved`(wanted: Int, limit: Int, room: Int) {
    #expect(DescriptorLimit.room(for: wanted, limit: limit) == room)
  }

  @Test func `header names are compared without regard to case`() {
    let headers = HTTPHeaders([("Accept", "a"), ("X-Name", "b"), ("accept", "c")])
    #expect(headers["accept"] == "a")
    #expect(headers.values(of: "accept") == ["a", "c"])
    #expect(headers["x-nam"] == nil)
  }
}
