import EventLoop
import FleetSupport
import Foundation
import JSON
import Jobs
import Redis
import Testing
import TestSupport
@testable import Queue

/// What Prometheus reads from real processes.
@Suite(.serialized) struct MetricsTests {
  private static let shared = Task { try await Fleet() }
  private let fleet: Fleet

  init() async throws {
    fleet = try await Self.shared.value
    try await fleet.gateway.reset()
  }

  // MARK: - Conventions and documentation

  @Test(arguments: ["worker", "sidecar", "all"])
  func `metrics follow Prometheus' conventions and are all in docs/watching.md`(command: String) async throws {
    let text = try await metricsAfterTraffic(of: command)
    try await expectNoFinding(in: text)
    let exposed = MetricFamilies(text: text)
    let documented = try MetricFamilies.documented(process: command)
    #expect(exposed.types.keys.sorted() == documented.types.keys.sorted())
    for (name, type) in exposed.types { #expect(documented.types[name] == type, "\(name)") }
    for (name, labels) in exposed.labels { #expect(documented.labels[name] == labels, "\(name)") }
  }

  private func expectNoFinding(in text: String) async throws {
    let promtool = try ChildProcess("promtool", ["check", "metrics"], input: text)
    #expect(try await promtool.exit() == 0, "if promtool is missing: `make deps` installs it")
    #expect(promtool.lines == [])
  }

  @Test func `the version as JSON names Swift and every library`() async throws {
    let report = try JSONValue(
      parsing: Array(try await ChildProcess.run(try builtProduct("martlet"), ["--version", "--json"]).utf8))
    let version = try await ChildProcess.run(try builtProduct("martlet"), ["--version"])
    #expect("martlet \(report["version"]?.string ?? "")" == version)
    #expect(report["swift"]?.string?.hasPrefix("6.") == true)
    // A build does not know its commit: an installation does.
    #expect(report["commit"] == nil)
    let libraries = report["libraries"]?.members ?? []
    #expect(libraries.map(\.key) == ["libcurl", "OpenSSL", "nghttp2", "GnuTLS", "libmicrohttpd", "hiredis"])
    #expect(libraries.allSatisfy { $0.value.string?.contains(/^\d+\.\d+\.\d+/) == true })
  }

  @Test func `a process reports on itself`() async throws {
    let worker = try await fleet.worker()
    let version = try await ChildProcess.run(try builtProduct("martlet"), ["--version"])
    let page = try await worker.get("/metrics").body
    #expect(page.contains("martlet_build_info{version=\"\(version.dropFirst("martlet ".count))\",swift=\"6."))
    let started = try #require(try await worker.metric("process_start_time_seconds"))
    #expect(abs(started - Date.now.timeIntervalSince1970) < 60)
    let resident = try #require(try await worker.metric("process_resident_memory_bytes"))
    #expect((1_000_000..<1_000_000_000).contains(resident))
    #expect(try #require(try await worker.metric("process_virtual_memory_bytes")) > resident)
    #expect(try #require(try await worker.metric("process_cpu_seconds_total")) > 0)
    let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(worker.process.pid)/fd").count
    let reported = try #require(try await worker.metric("process_open_fds"))
    #expect(abs(reported - Double(descriptors)) <= 2)
    #expect(try #require(try await worker.metric("process_max_fds")) >= reported)
    try await worker.stop()
  }

  // MARK: - Depth

  @Test func `the depth of a queue is reported by state, and not while Redis is unreachable`() async throws {
    let fleet = try await Fleet()
    // Without APNs it claims nothing.
    let worker = try await fleet.worker(["APNS_ENDPOINT_OVERRIDE": "https://127.0.0.1:9"], isReady: false)
    let keys = QueueKeys(queue: worker.queue)
    try await fleet.redis("LPUSH", keys.queue, "a", "b", "c", "d", "e")
    try await fleet.redis("ZADD", keys.retry, "9e12", "a", "9e12", "b", "9e12", "c", "9e12", "d")
    try await fleet.redis("ZADD", keys.scheduled, "9e12", "a", "9e12", "b", "9e12", "c")
    try await fleet.redis("ZADD", keys.dead, "1", "a")
    // Another worker, which is alive.
    try await fleet.redis("SADD", keys.workers, "other")
    try await fleet.redis("SET", keys.heartbeat("other"), "{}")
    try await fleet.redis("LPUSH", keys.inflight("other"), "a", "b")
    let expected = ["waiting": 5.0, "in_flight": 2, "retry": 4, "scheduled": 3, "dead": 1]
    try await eventually("the depth of the queue") {
      var found: [String: Double] = [:]
      for state in expected.keys { found[state] = try await depth(worker, state) }
      return found == expected
    }
    try await fleet.redis.kill()
    try await eventually("no samples") { try await depth(worker, "waiting") == nil }
    #expect(try await worker.get("/metrics").body.contains("# TYPE martlet_queue_jobs gauge\n"))
    try await fleet.redis.restart()
    try await eventually("samples again") { try await depth(worker, "waiting") != nil }
    try await worker.stop()
  }

  private func depth(_ worker: FleetWorker, _ state: String) async throws -> Double? {
    try await worker.metric("martlet_queue_jobs{queue=\"\(worker.queue)\",state=\"\(state)\"}")
  }

  @Test func `the age of a queue is that of its oldest job, unless the job does not tell`() async throws {
    // Without APNs it claims nothing.
    let worker = try await fleet.worker(["APNS_ENDPOINT_OVERRIDE": "https://127.0.0.1:9"], isReady: false)
    func age() async throws -> Double? {
      try await worker.metric("martlet_queue_oldest_seconds{queue=\"\(worker.queue)\"}")
    }
    func eventuallyAge(_ what: String, _ holds: @escaping (Double?) -> Bool) async throws {
      try await eventually(what) { holds(try await age()) }
    }
    let (minute, hour) = (Clock.unixMilliseconds - 60_000, Clock.unixMilliseconds - 3_600_000)
    try await eventuallyAge("an empty queue") { $0 == 0 }
    _ = try await enqueue(#""enqueuedAt":\#(hour)"#, on: worker.queue)
    _ = try await enqueue(#""enqueuedAt":\#(minute)"#, on: worker.queue)
    try await eventuallyAge("an hour") { (3_600..<7_200).contains($0 ?? 0) }
    try await fleet.redis("RPOP", worker.queue)
    try await eventuallyAge("a minute") { (60..<3_600).contains($0 ?? 0) }
    // A job that the fleet has put back is older than its wait.
    let job = #"{"id":"\#(fleet.unique("job"))","to":{"user":"a"},"title":"t","enqueuedAt":\#(hour)}"#
    let seal = try #require(try await fleet.redis("GET", QueueKeys(queue: worker.queue).seal).string)
    try await fleet.redis("RPUSH", worker.queue, "MARTLET \(seal) MARTLET1 0 0 a 0\n" + job)
    try await eventuallyAge("no age of a job that was put back") { $0 == nil }
    try await fleet.redis("RPOP", worker.queue)
    try await eventuallyAge("a minute again") { (60..<3_600).contains($0 ?? 0) }
    try await fleet.redis("RPUSH", worker.queue, "not a job")
    try await eventuallyAge("no age of what is not a job") { $0 == nil }
    try await fleet.redis("DEL", worker.queue)
    try await worker.stop()
  }

  // MARK: - Redis

  @Test func `a worker reports its connection to Redis, refusals, and the difference of the clocks`() async throws {
    let fleet = try await Fleet()
    let worker = try await fleet.worker()
    func metric(_ sample: String) async throws -> Double? { try await worker.metric(sample) }
    #expect(try await metric("martlet_redis_connected") == 1)
    #expect(abs(try #require(try await metric("martlet_redis_clock_offset_seconds"))) < 60)
    let refusals = "martlet_redis_refusals_total{code=\"OOM\"}"
    #expect(try await metric(refusals) == 0)
    try await fleet.redis("CONFIG", "SET", "maxmemory", "1")
    try await eventually("refusals") { (try await metric(refusals) ?? 0) > 0 }
    try await fleet.redis("CONFIG", "SET", "maxmemory", "0")
    try await fleet.redis.kill()
    try await eventually("no connection") { try await metric("martlet_redis_connected") == 0 }
    #expect(try await metric("martlet_redis_clock_offset_seconds") == nil)
    try await fleet.redis.restart()
    try await eventually("a connection") { try await metric("martlet_redis_connected") == 1 }
    try await worker.stop()
  }

  @Test func `a dead worker is counted for each of its queues by the one that finds it`() async throws {
    let queue = fleet.unique("jobs")
    let (dying, finding) = (try await fleet.worker(on: queue), try await fleet.worker(on: queue))
    let reaped = "martlet_workers_reaped_total{queue=\"\(queue)\"}"
    #expect(try await finding.metric(reaped) == 0)
    try await dying.kill()
    try await eventually("a dead worker") { try await finding.metric(reaped) == 1 }
    try await finding.stop()
  }

  // MARK: - APNs

  @Test func `a worker reports its connections to APNs, and the provider token and its refusals`() async throws {
    let worker = try await fleet.worker()
    #expect(try await worker.metric("martlet_apns_open_connections{environment=\"production\"}") == 1)
    try await deliver("", on: worker)
    let age = try #require(try await worker.metric("martlet_apns_provider_token_age_seconds"))
    // The fleet's token, which is as old as the window of 50 minutes.
    #expect((0..<3_060).contains(age))
    let refusals = "martlet_apns_token_refusals_total{reason=\"ExpiredProviderToken\"}"
    #expect(try await worker.metric(refusals) == 0)
    // The second attempt of the push, with a new token, is accepted: its outcome does not show the refusal.
    try await fleet.gateway.fault(#"{"kind":"status","status":403,"reason":"ExpiredProviderToken","count":1}"#)
    let record = try await deliver("", on: worker)
    #expect(record.status == "accepted")
    #expect(try await worker.metric(refusals) == 1)
    try await worker.stop()
    let deaf = try await fleet.worker(["APNS_ENDPOINT_OVERRIDE": "https://127.0.0.1:9"], isReady: false)
    #expect(try await deaf.metric("martlet_apns_open_connections{environment=\"production\"}") == 0)
    try await deaf.stop()
  }

  // MARK: - Latency

  @Test func `the latency of a queue begins at enqueuedAt`() async throws {
    let worker = try await fleet.worker()
    try await deliver(#""enqueuedAt":\#(Clock.unixMilliseconds - 20_000)"#, on: worker)
    #expect(try await count(worker) == 1)
    #expect((20..<2_000).contains(try await sum(worker)))
    // Not measured, or without effect.
    try await deliver("", on: worker)
    try await deliver(#""enqueuedAt":1790000000"#, on: worker)
    #expect(try await count(worker) == 1)
    // A clock that is ahead.
    let before = try await sum(worker)
    try await deliver(#""enqueuedAt":\#(Clock.unixMilliseconds + 3_600_000)"#, on: worker)
    #expect(try await count(worker) == 2)
    #expect(try await sum(worker) == before)
    try await worker.stop()
  }

  @Test func `a job with sendAt has waited since then`() async throws {
    let worker = try await fleet.worker()
    let now = Clock.unixMilliseconds
    try await deliver(#""enqueuedAt":\#(now - 3_600_000),"sendAt":\#(now + 1_500)"#, on: worker)
    #expect(try await count(worker) == 1)
    #expect(try await sum(worker) < 3_600)
    try await worker.stop()
  }

  @Test func `a retried job has waited once`() async throws {
    let worker = try await fleet.worker()
    try await fleet.gateway.fault(#"{"kind":"status","status":503,"retryAfter":1,"count":1}"#)
    let record = try await deliver(#""enqueuedAt":\#(Clock.unixMilliseconds)"#, on: worker)
    #expect(record.attempts == 2)
    #expect(try await count(worker) == 1)
    try await worker.stop()
  }

  @Test func `enqueue sets enqueuedAt unless the job has it or would become too large`() async throws {
    let queue = fleet.unique("jobs")
    func enqueued(_ arguments: String..., input: String = "") async throws -> Job {
      let child = try await fleet.martlet(["enqueue", "--queue", queue] + arguments, input: input)
      #expect(child.exitCode == 0, "\(child.lines)")
      return try Job(parsing: try #require(try await fleet.redis("LINDEX", queue, "0").bytes))
    }
    let start = Clock.unixMilliseconds
    let flags = try await enqueued("--user", "a", "--title", "t")
    #expect((start...Clock.unixMilliseconds).contains(try #require(flags.enqueuedAt)))
    let line = try await enqueued(input: #"{"id":"x","to":{"user":"a"},"title":"t"}"# + "\n")
    #expect(line.id == "x")
    #expect((start...Clock.unixMilliseconds).contains(try #require(line.enqueuedAt)))
    let own = try await enqueued(input: #"{"to":{"user":"a"},"title":"t","enqueuedAt":5}"# + "\n")
    #expect(own.enqueuedAt == 5)
    let empty = #"{"id":"x","to":{"user":"a"},"pushType":"voip","data":{"a":""}}"#
    let padding = String(repeating: "x", count: Job.maximumBytes - empty.utf8.count)
    let largest = try await enqueued(input: empty.replacing(#""a":"""#, with: #""a":"\#(padding)""#) + "\n")
    #expect(largest.enqueuedAt == nil)
  }

  private func count(_ worker: FleetWorker) async throws -> Double {
    try #require(try await worker.metric("martlet_queue_latency_seconds_count"))
  }

  private func sum(_ worker: FleetWorker) async throws -> Double {
    try #require(try await worker.metric("martlet_queue_latency_seconds_sum"))
  }

  // MARK: - Traffic

  /// Runs a job that is accepted; `members` are further members of it.
  @discardableResult
  private func deliver(_ members: String, on worker: FleetWorker) async throws -> JobRecord {
    let id = try await enqueue(members, on: worker.queue)
    return try await fleet.record(id)
  }

  private func enqueue(_ members: String, on queue: String) async throws -> String {
    let id = fleet.unique("job")
    let more = members.isEmpty ? "" : ",\(members)"
    try await fleet.enqueue(
      #"{"id":"\#(id)","to":{"token":"\#(fleet.uniqueToken())"},"title":"t"\#(more)}"#, on: queue)
    return id
  }

  /// The metrics of a process after jobs and requests of many kinds, so that most families have samples.
  private func metricsAfterTraffic(of command: String) async throws -> String {
    let queue = fleet.unique("jobs")
    if command == "worker" {
      let worker = try await fleet.worker(on: queue)
      try await runJobs(on: queue)
      try await eventually("the depth of the queue") { try await depth(worker, "dead") == 1 }
      let text = try await worker.get("/metrics").body
      try await worker.stop()
      return text + "\n"
    }
    let directory = try TemporaryDirectory()
    try await TestCertificate().write(to: directory)
    let service = try await fleet.sidecar(
      command, directory.certificateSettings.merging(["MARTLET_QUEUES": queue]) { own, _ in own })
    try await service.apns("ok")
    try await sendRequests(to: service)
    if command == "all" {
      try await runJobs(on: queue)
      try await eventually("the depth of the queue") {
        try await service.admin("/metrics").body.contains("state=\"dead\"} 1")
      }
    }
    let text = try await service.admin("/metrics").body
    try await service.stop()
    return text + "\n"
  }

  /// One that is accepted, one of a stale token, one that is invalid, and one with a class.
  private func runJobs(on queue: String) async throws {
    let (stale, instance) = (fleet.uniqueToken(), fleet.unique("instance"))
    try await fleet.register(instance: instance)
    try await fleet.gateway.device(stale, #""rule":"unregistered","since":1700000000001"#)
    let accepted = try await enqueue(#""enqueuedAt":\#(Clock.unixMilliseconds)"#, on: queue)
    let (failed, invalid) = (fleet.unique("job"), fleet.unique("job"))
    try await fleet.enqueue(
      #"{"id":"\#(failed)","to":{"token":"\#(stale)"},"title":"t"}"#, #"{"id":"\#(invalid)"}"#, on: queue)
    for id in [accepted, failed, invalid] { _ = try await fleet.record(id) }
    _ = try await fleet.deliver("attention_ping", to: instance, on: queue)
  }

  /// One that succeeds, one to an unknown path, and one without a valid credential.
  private func sendRequests(to service: SidecarProcess) async throws {
    let user = try await fleet.userWithCredentials("alice")
    let answer = try await service.push(
      "register", as: user, #"{"token":"\#(fleet.uniqueToken())","platform":"ios"}"#)
    #expect(answer.status == 200)
    #expect(try await service.ask("/nowhere", as: user).status == 404)
    #expect(try await service.push("register", as: fleet.unique("stranger")).status == 401)
  }
}

/// The families of a metrics page, or of the table in docs/watching.md.
struct MetricFamilies {
  /// By name.
  private(set) var types: [String: String] = [:]
  /// Names of the labels, sorted, of the families that have samples; `le` is left out.
  private(set) var labels: [String: [String]] = [:]

  /// From Prometheus' text format, whose families are consecutive.
  init(text: String) {
    var family = ""
    for line in text.split(separator: "\n") {
      if let type = line.wholeMatch(of: /# TYPE (\S+) (\S+)/) {
        family = String(type.1)
        types[family] = String(type.2)
      } else if !line.hasPrefix("#") {
        let names = line.matches(of: /[\{,]([a-z_]+)="/).map { String($0.1) }
        labels[family] = names.filter { $0 != "le" }.sorted()
      }
    }
  }

  /// The rows of the table for `worker`, `sidecar` or, with both, `all`.
  static func documented(process: String) throws -> MetricFamilies {
    let root = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL
    let text = try String(contentsOf: root.appending(path: "docs/watching.md"), encoding: .utf8)
    var families = MetricFamilies(text: "")
    for line in text.split(separator: "\n") {
      let pattern = /^\| `([a-z_]+)(?:\{([a-z_,]+)\})?` \| (worker|sidecar|dashboard|both) \| ([a-z]+) \|/
      guard let row = line.firstMatch(of: pattern) else { continue }
      guard process == "all" || row.3 == "both" || row.3 == process else { continue }
      families.types[String(row.1)] = String(row.4)
      families.labels[String(row.1)] = (row.2?.split(separator: ",").map(String.init) ?? []).sorted()
    }
    return families
  }
}
