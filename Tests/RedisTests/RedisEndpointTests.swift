import Testing

@testable import Redis

struct RedisEndpointTests {
  private typealias Server = RedisEndpoint.HostAndPort

  @Test func `host, port, database and credentials are read`() throws {
    let endpoint = try RedisEndpoint(url: "redis://alice:p%40ss:w%2Frd@Redis.example:6400/12")
    #expect(endpoint.address == .tcp(Server(host: "Redis.example", port: 6400), isTLS: false))
    #expect(endpoint.user == "alice")
    #expect(endpoint.password == "p@ss:w/rd")
    #expect(endpoint.database == 12)
  }

  @Test(arguments: [
    ("redis://h", "redis://h:6379/0"), ("redis://h/", "redis://h:6379/0"), ("REDIS://h:1/5", "redis://h:1/5"),
    ("redis://h?db=2", "redis://h:6379/2"), ("rediss://h", "rediss://h:6379/0"),
    ("redis://[::1]", "redis://[::1]:6379/0"), ("redis://[::1]:7/1", "redis://[::1]:7/1"),
    ("redis://:secret@h", "redis://h:6379/0"), ("redis://u:secret@h:1", "redis://h:1/0"),
    ("unix:///run/redis.sock", "unix:///run/redis.sock?db=0"), ("unix:///a%20b?db=3", "unix:///a b?db=3"),
    ("unix://u:secret@/r.sock", "unix:///r.sock?db=0"),
    ("redis+sentinel://a,b:7,[::1]:8/main/4", "redis+sentinel://a:26379,b:7,[::1]:8/main/4"),
    ("redis+sentinel://u:secret@a/main", "redis+sentinel://a:26379/main/0"),
  ])
  func `every form is parsed, and its summary hides the password`(url: String, summary: String) throws {
    let endpoint = try RedisEndpoint(url: url)
    #expect(endpoint.summary == summary)
    #expect("\(endpoint)" == summary && String(reflecting: endpoint) == summary)
  }

  @Test(arguments: [
    ("valkey://u:secret@h:1/2", "redis://u:secret@h:1/2"), ("Valkeys://:secret@h", "rediss://:secret@h"),
  ])
  func `the schemes of Valkey are the same as those of Redis`(url: String, same: String) throws {
    let (endpoint, expected) = (try RedisEndpoint(url: url), try RedisEndpoint(url: same))
    #expect(endpoint.summary == expected.summary && endpoint.address == expected.address)
    #expect(endpoint.user == expected.user && endpoint.password == expected.password)
  }

  @Test(arguments: ["redis://:@h", "redis://default:@h", "unix://:@/s", "redis+sentinel://:@h/m"])
  func `an empty password is none`(url: String) throws {
    let endpoint = try RedisEndpoint(url: url)
    #expect(endpoint.user == nil && endpoint.password == nil)
  }

  @Test func `a password alone is for the default user`() throws {
    for url in ["redis://:secret@h", "unix://:secret@/s", "redis+sentinel://:secret@h/m"] {
      let endpoint = try RedisEndpoint(url: url)
      #expect(endpoint.user == nil && endpoint.password == "secret")
    }
  }

  @Test(arguments: [
    "", "h", "redis", "redis:/h", "http://h", "redis://", "redis:///0", "redis://:6379", "redis://h:", "redis://h:0",
    "redis://h:65536", "redis://h:+1", "redis://h:6379x", "redis://h/x", "redis://h/-1", "redis://h/1/2",
    "redis://h/99999999999", "redis://h?db=", "redis://h?ssl=true", "redis://h?db=1&db=2", "redis://h#x", "redis://h x",
    "redis://h\n", "redis://sesame@h", "redis://u:@h", "redis://u:sesame%@h", "redis://u:sesame%zz@h",
    "redis://u:sesame%ff@h", "redis://u:sesame/x@h", "redis://[::1", "redis://[::1]x", "redis://a%00b",
    "unix://run/redis.sock", "unix://", "unix:///", "unix:///a%00b", "unix:///\(String(repeating: "p", count: 108))",
    "redis+sentinel://h", "redis+sentinel://h/", "redis+sentinel://h,/m", "redis+sentinel:///m",
    "unix:///u:p@run/redis.sock", "redis+sentinel://h/u:p@m", "redis+sentinel://h/m/x", "redis+sentinel://h/m/1/2",
  ])
  func `an invalid URL is refused without showing the password`(url: String) {
    let error = #expect(throws: RedisError.self) { try RedisEndpoint(url: url) }
    guard case .configuration(let message) = error else {
      Issue.record("expected a configuration error, got \(String(describing: error))")
      return
    }
    #expect(!message.isEmpty && !message.contains("sesame"))
  }

  @Test func `an invalid CA certificate is refused at once`() {
    #expect(throws: RedisError.self) { try RedisEndpoint(url: "rediss://h", caCertificatePEM: "/etc/ca.pem") }
  }
}
