import FleetSupport
import Foundation
import Testing
import TestSupport

/// Strangers who open connections and finish nothing: the memory of a process stays bounded, another client is served, and
/// afterwards the memory is given back.
@Suite(.serialized) struct FloodTests {
  /// Connections of each kind to each port.
  private static let connections = 1500
  /// How often all of them are opened again, and the requests of the victim to each port after that.
  private static let (rounds, requests) = (3, 30)
  /// Resident memory during a flood, and after it. KiB.
  private static let maximum = 128 << 10
  private static let maximumAfter = 60 << 10
  private static let shared = Task { try await Fleet() }

  private let fleet: Fleet

  init() async throws {
    fleet = try await Self.shared.value
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }

  /// A port under attack, and what its victim asks.
  private struct Target: Sendable {
    let port: Int
    let kinds: [Flood.Kind]
    /// A complete request, which is answered 200.
    var request = ""
    /// Asked with curl instead, over TLS.
    var url: String?
  }

  /// Floods all targets, asks each as a victim on a new connection for each request, and judges the memory of `process`.
  private func flood(_ process: ChildProcess, _ targets: [Target]) async throws {
    let before = try Self.memory(of: process, "VmRSS")
    let times = try await blocking {
      let floods = targets.map { Flood($0.kinds, count: Self.connections, port: $0.port) }
      var times: [Duration] = []
      for _ in 0..<Self.rounds {
        for flood in floods { flood.advance() }
        for target in targets { times += try Self.ask(target) }
      }
      return times.sorted()
    }
    let peak = try Self.memory(of: process, "VmHWM")
    #expect(peak < Self.maximum)
    try await eventually(within: .seconds(300), "the memory is given back") {
      try Self.memory(of: process, "VmRSS") < Self.maximumAfter
    }
    print(
      "victim: \(times.count) requests, p50 \(times[times.count / 2]), p99 \(times[times.count * 99 / 100]); "
        + "memory: \(before) KiB before, \(peak) at most, \(try Self.memory(of: process, "VmRSS")) after")
  }

  /// Sends requests that must be answered 200, and returns their times.
  private static func ask(_ target: Target) throws -> [Duration] {
    try (0..<requests).map { _ in
      let start = ContinuousClock.now
      if let url = target.url {
        let curl = Process()
        curl.executableURL = URL(fileURLWithPath: "/usr/bin/curl")
        curl.arguments = ["-sSkf", "-o", "/dev/null", url]
        try curl.run()
        curl.waitUntilExit()
        #expect(curl.terminationStatus == 0)
      } else {
        let answer = try Flood.answer(to: target.request, port: target.port)
        #expect(answer.hasPrefix("HTTP/1.1 200 "), "\(answer)")
      }
      return start.duration(to: .now)
    }
  }

  /// A line of the kernel's status of the process. KiB.
  private static func memory(of process: ChildProcess, _ name: String) throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(process.pid)/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix(name + ":") })
    return try #require(line.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) })
  }

  /// The head of a registration that lacks its length. The token has the form of one.
  private static let registration = """
    POST /api/push/register HTTP/1.1\r
    Host: x\r
    Authorization: Bearer token-of-nobody-at-all\r
    X-Username: nobody\r

    """

  /// The head of a form that lacks its length. The dashboard has no operators, so the request may be this machine's.
  private static let form = """
    POST /dead HTTP/1.1\r
    Host: localhost\r
    Content-Type: application/x-www-form-urlencoded\r

    """

  private func sidecarTarget(_ sidecar: SidecarProcess) async throws -> Target {
    let user = try await fleet.userWithCredentials("flooded")
    return Target(
      port: sidecar.port, kinds: [.body(head: Self.registration), .head],
      request: """
        GET /notifications?limit=1 HTTP/1.1\r
        Host: localhost\r
        Authorization: Bearer \(SidecarProcess.secret(of: user))\r
        X-Username: \(user)\r
        \r

        """)
  }

  private func dashboardTarget(_ port: Int) -> Target {
    Target(
      port: port, kinds: [.body(head: Self.form), .head], request: "GET /dead HTTP/1.1\r\nHost: localhost\r\n\r\n")
  }

  private func adminTarget(_ port: Int) -> Target {
    Target(
      port: port, kinds: [.body(head: "POST /healthz HTTP/1.1\r\nHost: x\r\n"), .head],
      request: "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
  }

  @Test func `a sidecar under a flood serves others in bounded memory`() async throws {
    let sidecar = try await fleet.sidecar()
    try await flood(sidecar.process, [try await sidecarTarget(sidecar), adminTarget(try await sidecar.adminPort)])
    #expect(try await sidecar.stop() == 0)
  }

  @Test func `a sidecar with TLS under a flood of handshakes serves others in bounded memory`() async throws {
    let directory = try TemporaryDirectory()
    try await TestCertificate().write(to: directory)
    let sidecar = try await fleet.sidecar("sidecar", directory.certificateSettings)
    let target = Target(
      port: sidecar.port, kinds: [.hello, .head], url: "https://localhost:\(sidecar.port)/healthz")
    try await flood(sidecar.process, [target, adminTarget(try await sidecar.adminPort)])
    #expect(try await sidecar.stop() == 0)
  }

  @Test func `a dashboard under a flood serves others in bounded memory`() async throws {
    let dashboard = try await fleet.dashboard()
    try await flood(dashboard.process, [dashboardTarget(dashboard.port)])
    #expect(try await dashboard.stop() == 0)
  }

  @Test func `a worker under a flood serves its admin port in bounded memory`() async throws {
    let worker = try await fleet.worker()
    try await flood(worker.process, [adminTarget(worker.adminPort)])
    #expect(try await worker.stop() == 0)
  }

  @Test func `a process of all parts under floods of all ports serves others in bounded memory`() async throws {
    let all = try await fleet.sidecar("all", ["MARTLET_QUEUES": fleet.unique("flooded")])
    let line = try await all.process.line("the dashboard's port") { $0.contains("dashboard listens") }
    struct Entry: Decodable { let port: Int }
    let dashboard = try JSONDecoder().decode(Entry.self, from: Data(line.utf8)).port
    try await flood(
      all.process, [try await sidecarTarget(all), dashboardTarget(dashboard), adminTarget(try await all.adminPort)])
    #expect(try await all.stop() == 0)
  }
}
